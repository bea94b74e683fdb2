import { type Claim, type RecordName, type Store, type StoredAnswer, type StoredRecord, scopeOf } from 'hapax'

/** Stores with one fault each, made from a good one: what a careless author might write. */
export interface PlantedFault<Tx = never> {
  readonly fault: string
  /** A case that must find it. Others may find it too. */
  readonly caughtBy: string
  readonly plant: Plant<Tx>
}

/** Gives the methods that take the place of the good ones. */
export type Plant<Tx = never> = (store: Store<Tx>, time: Time) => Partial<Store<Tx>>

/** The clock of the store, which a fault may turn back and forth. */
export interface Time {
  now(): number
  set(ms: number): Promise<void>
}

export const plantedFaults: readonly PlantedFault[] = [
  {
    fault: 'ignores the fence',
    caughtBy: 'the right claim id with the wrong fence can change nothing',
    plant: (store) => writingAs(store, (claim, { fence }) => ({ ...claim, fence })),
  },
  {
    fault: 'ignores the claim id',
    caughtBy: 'a claim of a released record can change nothing in the one that was reserved anew',
    plant: (store) => writingAs(store, (claim, { claimId }) => ({ ...claim, claimId })),
  },
  {
    fault: 'ignores fence and claim id alike',
    caughtBy: 'a claim whose lease was taken over can change nothing',
    plant: (store) => writingAs(store, (claim, { fence, claimId }) => ({ ...claim, fence, claimId })),
  },
  {
    fault: 'ignores the generation of a claim',
    caughtBy: 'the right claim id and fence in the wrong generation can change nothing',
    plant: (store) => writingAs(store, (claim, { generation }) => ({ ...claim, generation })),
  },
  {
    fault: 'does not recognise its own reservation',
    caughtBy: 'a reservation whose reply was lost is recognised by its claim id, with the same fence',
    plant: (store) => ({
      reserve: async (asked) => {
        const own = (await store.find(asked))?.claimId === asked.claimId
        return store.reserve(own ? { ...asked, claimId: 'forgotten' } : asked)
      },
    }),
  },
  {
    fault: 'looks first and reserves later',
    caughtBy: 'of fifty racers on one node exactly one starts',
    plant: (store) => ({
      reserve: async (asked) => {
        const before = await store.find(asked)
        const verdict = await store.reserve(asked)
        const record = await store.find(asked)
        return before === undefined && record !== undefined ? { kind: 'reserved', claim: record, record } : verdict
      },
    }),
  },
  {
    fault: 'leaves expiry to the reaper',
    caughtBy: 'an answer is replayed to the last millisecond and is expired at its deadline, though no reaper ran',
    plant: (store, time) => ({
      reserve: async (asked) => {
        const { state, expiresAt = Number.POSITIVE_INFINITY } = (await store.find(asked)) ?? {}
        return state === 'expired'
          ? store.reserve(asked)
          : atTime(time, Math.min(time.now(), expiresAt - 1), async () => store.reserve(asked))
      },
    }),
  },
  {
    fault: 'lets a record in progress hide a mismatch',
    caughtBy: 'another request under a key that is in progress is a mismatch, and changes nothing',
    plant: (store) => ({
      reserve: async (asked) => {
        const record = await store.find(asked)
        const verdict = await store.reserve(asked)
        return verdict.kind === 'mismatched' && record?.state === 'in_progress'
          ? { kind: 'in_progress', leaseLeftMs: 1 }
          : verdict
      },
    }),
  },
  {
    fault: 'renews the lease of a record when another request is refused',
    caughtBy: 'another request under a key that is in progress is a mismatch, and changes nothing',
    plant: (store) => ({
      reserve: async (asked) => {
        const verdict = await store.reserve(asked)
        const record = await store.find(asked)
        if (verdict.kind === 'mismatched' && record !== undefined) await store.renew(record, 60_000)
        return verdict
      },
    }),
  },
  {
    fault: 'merges scopes',
    caughtBy: 'the same key in another scope is another key',
    plant: (store) => ({ reserve: (asked) => store.reserve({ ...asked, scope: scopeOf('acme') }) }),
  },
  {
    fault: 'forgets the generation when a key is used anew',
    caughtBy: 'a key used anew is the next generation of the same record, with nothing left of the last',
    plant: (store, time) => ({
      reserve: async (asked) => {
        const record = await store.find(asked)
        if (record?.expiresAt !== undefined && record.expiresAt <= time.now()) await forget(store, time, record)
        return store.reserve(asked)
      },
    }),
  },
  {
    fault: 'runs an unknown outcome again',
    caughtBy: 'an unknown outcome never expires',
    plant: (store, time) => ({
      reserve: async (asked) => {
        const record = await store.find(asked)
        if (record?.state === 'unknown' && (record.expiresAt ?? Number.POSITIVE_INFINITY) <= time.now())
          await settleBlindly(store, record)
        return store.reserve(asked)
      },
    }),
  },
  {
    fault: 'keeps one header of each name',
    caughtBy: 'headers keep their order, their spelling and their duplicates',
    plant: (store) => ({
      complete: (claim, { answer, answerVersion }) =>
        store.complete(claim, {
          answer: { ...answer, headers: Object.entries(Object.fromEntries(answer.headers)) },
          answerVersion,
        }),
    }),
  },
  {
    fault: 'keeps bodies as text',
    caughtBy: 'every byte from 0 to 255 survives',
    plant: (store) => ({
      complete: (claim, { answer, answerVersion }) => {
        if (answer.kind === 'withheld') return store.complete(claim, { answer, answerVersion })
        const body = Buffer.from(Buffer.from(answer.body).toString('utf8'))
        return store.complete(claim, { answer: { ...answer, body }, answerVersion })
      },
    }),
  },
  {
    fault: 'sweeps and reaps without a bound',
    caughtBy: 'a sweep takes at most as many as it was told, and the next ones take the rest',
    plant: (store) => ({ sweep: () => store.sweep(1_000), reap: () => store.reap(1_000) }),
  },
  {
    fault: 'abandons without a bound',
    caughtBy: 'of what is past its retention as many are taken as were told, the longest past it first',
    plant: (store) => ({ abandon: (query) => store.abandon({ ...query, limit: 1_000 }) }),
  },
  {
    fault: 'takes a limit below 1 for none where it abandons',
    caughtBy: 'to abandon refuses a limit that is no whole number from 1, and abandons nothing',
    plant: (store) => ({
      abandon: ({ limit, operations }) => store.abandon({ operations, limit: limit < 1 ? 1_000 : limit }),
    }),
  },
  {
    fault: 'abandons what workers go on with',
    caughtBy: 'to abandon is not held up by what it must leave alone',
    plant: (store) => ({ abandon: ({ limit }) => store.abandon({ operations: [], limit }) }),
  },
  {
    fault: 'abandons only what no worker knows',
    caughtBy: 'a failure that no worker goes on with any more is left to a person, whatever its operation',
    plant: (store) => ({
      async abandon(query) {
        return (await store.abandon(query)).filter(({ operation }) => !query.operations.includes(operation))
      },
    }),
  },
  {
    fault: 'abandons by a clock that is ahead',
    caughtBy: 'half-done work that failed is left to a person at its retention',
    plant: (store, time) => ({ abandon: (query) => atTime(time, time.now() + 1, () => store.abandon(query)) }),
  },
  {
    fault: 'asks a person only once',
    caughtBy: 'what nobody comes back for after it was settled is abandoned once more',
    plant: (store) => ({
      async abandon(query) {
        const left = await store.abandon(query)
        return left.filter(({ evidence }) => evidence.length === 0)
      },
    }),
  },
  {
    fault: 'keeps the very buffers that it was given',
    caughtBy: 'what was stored does not change when the buffers of the caller do',
    plant: (store) => {
      let given: StoredAnswer | undefined
      return {
        complete: (claim, completion) => {
          given = completion.answer
          return store.complete(claim, completion)
        },
        reserve: async (asked) => {
          const verdict = await store.reserve(asked)
          return verdict.kind === 'completed' && given !== undefined ? { ...verdict, answer: given } : verdict
        },
      }
    },
  },
  {
    fault: 'hands out the very record that it holds',
    caughtBy: 'a replay may be overwritten, and the next one is the same',
    plant: (store) => {
      let held: StoredRecord | undefined
      return {
        find: async (name) => {
          held ??= await store.find(name)
          return held
        },
      }
    },
  },
  {
    fault: 'takes a limit below 1 for none',
    caughtBy: 'a sweep refuses a limit that is no whole number from 1, and sweeps nothing',
    plant: (store) => ({ sweep: (limit) => store.sweep(limit < 1 ? 1_000 : limit) }),
  },
  {
    fault: 'gives pages of any length',
    caughtBy: 'a page is never longer than the longest, whatever limit is asked for',
    plant: (store) => ({
      async list({ limit, ...query }) {
        const page = await store.list({ ...query, limit })
        if (page.next === undefined || page.records.length === limit) return page
        const rest = await store.list({ ...query, limit, after: page.next })
        return { records: [...page.records, ...rest.records], next: rest.next }
      },
    }),
  },
  {
    fault: 'counts a tenant together with those whose names begin alike',
    caughtBy: 'a tenant is not counted for another whose name begins like its own',
    plant: (store) => ({
      async usage(tenant, atMost) {
        const [own, other] = [await store.usage(tenant, atMost), await store.usage(`${tenant}-2`, atMost)]
        return { keys: own.keys + other.keys, bytes: own.bytes + other.bytes }
      },
    }),
  },
  {
    fault: 'leaves it to the reaper what counts',
    caughtBy: 'whatever state a key is in, it counts until it is free again',
    plant: (store, time) => ({ usage: (tenant, atMost) => atTime(time, 0, () => store.usage(tenant, atMost)) }),
  },
  {
    fault: 'reaps what it was only to count',
    caughtBy: 'what a reaping would take is counted up to a bound, and not taken by that',
    plant: (store) => ({ reapable: (atMost) => store.reap(atMost) }),
  },
  {
    fault: 'counts further than it was told',
    caughtBy: 'no more keys are looked for than asked, over all scopes together',
    plant: (store) => ({ usage: (tenant, atMost) => store.usage(tenant, 2 * atMost) }),
  },
  {
    fault: 'pages by how many records came before',
    caughtBy: 'pages are stable while records are added, change state and go',
    plant: (store) => ({
      async list({ after = '0', limit, ...filter }) {
        const { records } = await store.list({ ...filter, limit: 1_000 })
        const newestFirst = [...records].reverse().slice(Number(after), Number(after) + limit)
        const end = Number(after) + newestFirst.length
        return { records: newestFirst, next: end < records.length ? String(end) : undefined }
      },
    }),
  },
]

/** Every write of a holder, under a claim that borrows from the record what it should have proved. */
function writingAs(store: Store, borrow: (claim: Claim, record: StoredRecord) => Claim): Partial<Store> {
  const forged = async (claim: Claim) => {
    const record = await store.find(claim)
    return record === undefined ? claim : borrow(claim, record)
  }
  return {
    renew: async (claim, leaseMs) => store.renew(await forged(claim), leaseMs),
    checkpoint: async (claim, checkpoint) => store.checkpoint(await forged(claim), checkpoint),
    complete: async (claim, completion) => store.complete(await forged(claim), completion),
    fail: async (claim, failure) => store.fail(await forged(claim), failure),
    doubt: async (claim, doubt) => store.doubt(await forged(claim), doubt),
    release: async (claim) => store.release(await forged(claim)),
  }
}

async function atTime<T>(time: Time, ms: number, act: () => Promise<T>): Promise<T> {
  const now = time.now()
  await time.set(ms)
  try {
    return await act()
  } finally {
    await time.set(now)
  }
}

/** Buries and deletes, long after the tombstone has stood its time. */
async function forget(store: Store, time: Time, record: StoredRecord): Promise<void> {
  await atTime(time, time.now() + record.tombstoneMs, async () => {
    await store.reap(1_000)
    await store.reap(1_000)
  })
}

async function settleBlindly(store: Store, record: RecordName & { readonly generation: number }): Promise<void> {
  const evidence = { by: 'nobody', why: 'none' }
  await store.settle(record, { generation: record.generation, evidence, outcome: { kind: 'not_landed' } })
}
