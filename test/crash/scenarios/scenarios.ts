import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import { killedCrowds } from './crowds.js'
import { killedEffectReconcilers, killedWorkers } from './effects.js'
import { killedDeliveries } from './inbox.js'
import { killedReconcilers } from './reconciler.js'
import { killedRides } from './rides.js'
import type { Scenario } from './scenario.js'
import { killedBookings } from './single.js'

/** How processes are killed at each crash point. The compiler sees that none is missing, and so does a test. */
export const scenarios: Readonly<Record<CrashPoint, readonly Scenario[]>> = {
  'batch.reserved': killedCrowds('batch.reserved'),
  'batch.completed': killedCrowds('batch.completed'),
  'phase.open': killedRides('phase.open'),
  'phase.committed': killedRides('phase.committed'),
  'call.begun': killedRides('call.begun'),
  'call.answered': killedRides('call.answered'),
  'call.recorded': killedRides('call.recorded'),
  'commit.open': killedRides('commit.open'),
  'commit.committed': killedRides('commit.committed'),
  'single.taken': killedBookings('single.taken'),
  'single.written': killedBookings('single.written'),
  'single.committed': killedBookings('single.committed'),
  'effect.leased': killedWorkers('effect.leased'),
  'effect.begun': killedWorkers('effect.begun'),
  'effect.answered': killedWorkers('effect.answered'),
  'effect.recorded': killedWorkers('effect.recorded'),
  'effect.applying': killedWorkers('effect.applying'),
  'effect.settled': killedWorkers('effect.settled'),
  'reconciler.asked': [...killedReconcilers('reconciler.asked'), ...killedEffectReconcilers('reconciler.asked')],
  'reconciler.settled': [...killedReconcilers('reconciler.settled'), ...killedEffectReconcilers('reconciler.settled')],
  'inbox.inserted': killedDeliveries('inbox.inserted'),
  'inbox.committed': killedDeliveries('inbox.committed'),
}
