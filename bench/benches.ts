import { admin } from './admin/admin.js'
import { effects } from './effects/effects.js'
import { fingerprint } from './fingerprint.js'
import { growth } from './growth/growth.js'
import type { Bench } from './harness/bench.js'
import { hostile } from './hostile.js'
import { http } from './http/http.js'
import { memory } from './memory/memory.js'
import { peers } from './peers/peers.js'
import { reaper } from './reaper/reaper.js'
import { store } from './store/store.js'
import { telemetry } from './telemetry/telemetry.js'
import { transaction } from './transaction/transaction.js'

/** In the order in which docs tell of them. */
export const benches: readonly Bench[] = [
  store,
  http,
  peers,
  transaction,
  growth,
  fingerprint,
  memory,
  effects,
  reaper,
  telemetry,
  admin,
  hostile,
]
