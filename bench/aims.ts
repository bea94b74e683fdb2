/** What the numbers should be. Each is about a ratio of one run, and says so when it is not reached. */
export interface Aim {
  readonly bench: string
  /** Of those that the bench prints. */
  readonly ratio: string
  readonly what: string
  readonly bound: Bound
}

export type Bound = { readonly atLeast: number } | { readonly atMost: number }

export type Verdict = 'reached' | 'not reached' | 'not measured'

export interface Judged {
  readonly what: string
  readonly aim: string
  /** Absent where somebody whom it is about could not take part. */
  readonly measured?: number
  readonly verdict: Verdict
}

export const aims: readonly Aim[] = [
  {
    bench: 'store',
    ratio: 'pairs@256 / pgbench@32',
    what: 'store pairs at 256 against pgbench one by one (32 clients)',
    bound: { atLeast: 5 },
  },
  {
    bench: 'store',
    ratio: 'p50 pairs@1 / unbatched@1',
    what: 'store p50 at concurrency 1 against an unbatched pool',
    bound: { atMost: 1.05 },
  },
  {
    bench: 'http',
    ratio: 'new@256 postgres / bare',
    what: 'guarded Fastify on PostgreSQL, new keys at 256, against bare Fastify',
    bound: { atLeast: 0.7 },
  },
  {
    bench: 'http',
    ratio: 'replays@64 postgres / bare',
    what: 'the same, replays at 64',
    bound: { atLeast: 0.8 },
  },
  {
    bench: 'peers',
    ratio: 'hapax / fastest on Redis',
    what: 'against the fastest peer on Redis, new keys at 256, any durability',
    bound: { atLeast: 1.2 },
  },
  { bench: 'peers', ratio: 'hapax / DBOS', what: 'against DBOS, new keys at 256', bound: { atLeast: 20 } },
  { bench: 'peers', ratio: 'hapax / Restate', what: 'against Restate, new keys at 256', bound: { atLeast: 10 } },
  {
    bench: 'store',
    ratio: 'pairs@256 / redis@256',
    what: 'store pairs at 256 against raw Redis `SET NX` + `SET` without fsync',
    bound: { atLeast: 1 },
  },
  {
    bench: 'transaction',
    ratio: 'hapax@32 / bare@32',
    what: 'one-transaction mode against the bare business transaction at 32',
    bound: { atLeast: 0.75 },
  },
  {
    bench: 'growth',
    ratio: '5 million / empty',
    what: '5 million records against none, store pairs at 256',
    bound: { atLeast: 0.75 },
  },
  {
    bench: 'fingerprint',
    ratio: '2 KB',
    what: 'fingerprint at 2 KB against canonicalize + createHash',
    bound: { atLeast: 1.5 },
  },
  {
    bench: 'memory',
    ratio: 'postgres KB',
    what: 'memory per request in flight beyond its body and answer, in KB',
    bound: { atMost: 4 },
  },
  {
    bench: 'telemetry',
    ratio: 'new@256 metrics / nobody',
    what: 'guarded Fastify on PostgreSQL with metrics and a log, new keys at 256, against without',
    bound: { atLeast: 0.95 },
  },
  {
    bench: 'telemetry',
    ratio: 'replays@64 metrics / nobody',
    what: 'the same with metrics and a log, replays at 64',
    bound: { atLeast: 0.95 },
  },
  {
    bench: 'admin',
    ratio: 'slowest query / 100 ms',
    what: 'the slowest query of operators on 5 million records, against 100 ms',
    bound: { atMost: 1 },
  },
  {
    bench: 'admin',
    ratio: 'tables read through',
    what: 'tables that these read through',
    bound: { atMost: 0 },
  },
]

/** The aims that a bench is about, by what it measured. */
export function judged(bench: string, ratios: Readonly<Record<string, number>>): readonly Judged[] {
  return aims
    .filter((aim) => aim.bench === bench)
    .map(({ ratio, what, bound }) => {
      const aim = 'atLeast' in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost}`
      const measured = ratios[ratio]
      if (measured === undefined) return { what, aim, verdict: 'not measured' }
      const isReached = 'atLeast' in bound ? measured >= bound.atLeast : measured <= bound.atMost
      return { what, aim, measured, verdict: isReached ? 'reached' : 'not reached' }
    })
}
