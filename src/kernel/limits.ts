/**
 * Every default and every bound of Hapax, each with its reason. Nothing else in the tree repeats these numbers. Those of
 * the client stand in client-limits.ts: they end up in pages, and none of these shall.
 */

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

export const defaults = {
  /** The window that Stripe, Finastra and most APIs publish. */
  retentionMs: day,
  /** Longer than providers remember keys, so that a key used anew is still told apart from its first use. */
  tombstoneMs: 30 * day,
  /** Short, because a crash locks the key for this long; a living handler renews it. */
  leaseMs: 30 * second,
  /** A hung handler may not renew for ever. No HTTP client waits this long. */
  maxRunMs: 15 * minute,
  /** A duplicate that waits should end before the usual 30 s of a proxy. */
  waitMs: 10 * second,
  /** A store that is silent this long counts as down: failing closed must be quick too. */
  storeTimeoutMs: 5 * second,
  /** A handler may hold an embedded transaction for this long: well under a third of the lease, so renewals survive it. */
  transactionTimeoutMs: 5 * second,
  /** An answer above this is not worth its storage; the retry is told so. */
  maxAnswerBytes: 1024 * 1024,
  /** The longest request body that is read: as long as an answer that is kept. */
  bodyLimitBytes: 1024 * 1024,
  /** How soon an unknown outcome is looked at for the first time. */
  reconcileAfterMs: 0,
  /** What an `unknown` answer tells a client to wait where nobody knows when it is looked at. */
  unknownRetryAfterMs: 30 * second,
  /** And what is added where the next look is planned: time to ask the provider, and to settle. */
  lookedAtAfterMs: second,
  /** What a duplicate is told to wait at most: most handlers are done by then, however long their lease. */
  inProgressRetryAfterMs: 2 * second,
  /** Opening may create the schema, which takes longer than a step. */
  openTimeoutMs: 30 * second,
  /** How long a clean shutdown waits for handlers that still run: orchestrators kill after ten seconds in all. */
  drainMs: 7 * second,
  /** After that they hear of it, and those that listen have this long to write down how they ended. */
  lastWordsMs: 2 * second,
  /** A tenant that is full is not counted again for so long: counting costs the database, and room is made slowly. */
  quotaHoldMs: second,
  /** What a tenant that is full is told to wait: room is made by keys that expire, in minutes rather than seconds. */
  quotaRetryAfterMs: 30 * second,
  /** A doubt that one node looks at is left alone by the others for so long: longer than a whole pass of looks may take. */
  lookMs: 40 * second,
  /** A pass begins no look after this: what it has not come to by then is put back, for whoever is next. */
  beginLooksMs: 10 * second,
  /** A provider that does not answer a question by then is out. With the above, a pass ends well before its hold does. */
  lookTimeoutMs: 20 * second,
  /** What a look may take besides: to come to the question, and to write down what was heard. */
  lookMarginMs: 5 * second,
  /** A provider that has not answered by then hardly will, and a third of the lease is left for what follows. */
  callTimeoutMs: 10 * second,
  /** How far the time that a webhook was signed at may lie from ours, either way: what Stripe and Standard Webhooks use. */
  webhookToleranceMs: 5 * minute,
  /** A check of a signature that asks somebody else may take this long: providers wait ten seconds or more. */
  verifyTimeoutMs: 5 * second,
  /** How often a caller may ask how its keys stand: once a second is more than enough to follow one. */
  statusAsks: { most: 60, per: '1m' },
} as const

export const limits = {
  /** So many requests of one turn are handled before the first of them is answered. */
  together: 128,
  /** And no others once they took so long: what is quick is not to wait for what is not. */
  togetherMs: 5,
  /** The end of the year 9999: a later time has no text of the usual length, and not every database has it. */
  latestAt: 253_402_300_799_999,
  /** Stripe's bound; fits every client seen so far. */
  keyLength: 255,
  /** The id of an event at its provider: as long as a key, and no provider seen so far comes near. */
  eventIdLength: 255,
  /** The grounds of a testimony are a sentence for people. */
  whyLength: 255,
  /** The least that Standard Webhooks allows; a shorter secret may be guessed by whoever has seen one delivery. */
  webhookSecretBytes: 24,
  /** Tenant, principal, credential and route together, escaped. */
  scopeLength: 512,
  /** An operation or recovery point is a name, not a text. */
  nameLength: 100,
  /** A recovery point is a short word: published designs give it a column of fifty characters. */
  phaseNameLength: 50,
  /** What is kept of an operation's input and its phases: as much as of an answer. */
  progressBytes: 1024 * 1024,
  /** A call ends this long before its lease: time to write down that it did not. */
  callMarginMs: second,
  /** We stop to rely on a provider's memory of a key this long before it ends, and never later than after nine tenths of it. */
  keyMemoryMarginMs: 5 * minute,
  /** How often an operation goes on by itself. With the pauses between, about a day; then it waits for a person. */
  resumeAttempts: 40,
  /** A call or an effect that nobody can be asked about is left to people when it has been in doubt for longer than this. */
  doubtMs: 3 * day,
  /** How often a provider is asked about one call in vain. With the pauses between, about two days; then a person is. */
  looks: 50,
  /** Effects of one phase: they are one statement. */
  effectsPerPhase: 1_000,
  /** JSON nested deeper than this is hashed as bytes: no honest body is, and many a parser behind us would fall over. */
  canonicalDepth: 1_000,
  /** Under a day a client on a bad network may retry too late: worth a warning. */
  retentionWarnMs: day,
  /** Under an hour it will: needs an explicit override. */
  retentionFloorMs: hour,
  /** Leases shorter than this are lost to a pause of the garbage collector. */
  leaseFloorMs: 100,
  /** How often the log says of one step of the store that it failed: each request of an outage fails at the same. */
  storeLogMs: 10 * second,
  /** Reservations without a reply that are looked for; more than this is an outage, and the sweeper's business. */
  abandoned: 1_000,
  /** How often a body may be wrapped: each wrapping costs a whole body to undo, and a few bytes of a header to name. */
  contentEncodings: 2,
  /** How far a client's clock may be ahead of ours before we stop to believe its dates. */
  dateAheadMs: 5 * minute,
  /** One failure of a store is an accident, this many in a row are an outage. */
  failuresInARow: 5,
  /** Longer than any contract asks for, and far from the end of what a date can hold. */
  durationMs: 100 * 365 * day,
  /** Duplicates that wait in one process; the next one is told to come back. */
  waiters: 1_000,
  /** Questions that one provider is asked at once, after it has answered the first: a look must not be a storm. */
  looksAtOnce: 8,
  /** Items of one request that run at once: enough to keep a store busy, too few to take it from everybody else. */
  itemsAtOnce: 16,
  /** Rows per sweep or reap, so that traffic never waits behind a long transaction. */
  batch: 1_000,
  /** How often a step judges a record anew that others keep changing, before it says that the store is busy. */
  contention: 10,
  /** Rows per page of a list. */
  page: 1_000,
  /** Records that one page of a list looks at for some that fit: a few milliseconds in a database. */
  looked: 5_000,
  /** Two records may have taken their ids in another order than their times, if they were written this close together. */
  idsApartMs: 15 * second,
  /** The part of a quota that a node lets in between two counts: two nodes that count at once are over it by 5 % at most. */
  quotaShare: 0.025,
  /** Keys of one tenant that are counted: to count more takes a database longer than a request may wait. */
  countedKeys: 1_000_000,
  /** How often a tenant is counted in vain for one key, while keys that are under way may take the rest of its quota. */
  recounts: 3,
  /** Tenants whose last count a process remembers: a few megabytes. One that is forgotten is counted anew. */
  countedTenants: 10_000,
  /** A name as a limiter is given it; a longer one is hashed, since the columns of limiters are short. */
  limiterNameLength: 128,
  /** The longest time of a rate that a process counts by itself: a timer ends it, and holds little more than this. */
  rateMs: 24 * day,
  /** A key with fewer different characters was hardly made at random: of a billion random UUIDs about one has fewer. */
  keyVariety: 8,
  /** Operations that share one commit of the embedded store. */
  commitBatch: 128,
} as const

export const backoffs = {
  /** Waiting for somebody else's result: quick at first, since most handlers end within milliseconds. */
  waiting: { firstMs: 20, maxMs: second },
  /** The store fails: trying again at once helps little and hurts it. */
  storing: { firstMs: 100, maxMs: 5 * second },
  /** How long a store that is down is left alone: about as long as a caller waits before it tries again. */
  circuit: { firstMs: 500, maxMs: 10 * second },
  /** An operation that failed goes on by itself: soon at first, since most failures pass, then as often as a person would look. */
  resuming: { firstMs: second, maxMs: 30 * minute },
  /** A provider is asked again what became of a call: soon at first, since most know within seconds. */
  looking: { firstMs: second, maxMs: hour },
  /** A provider that fails to answer questions is asked less and less often. */
  outage: { firstMs: 5 * second, maxMs: 10 * minute },
  /** A worker whose pass failed: the next one is soon, since most failures pass, and rare when they do not. */
  working: { firstMs: second, maxMs: minute },
  /** An effect that failed: quick at first, since most outages are short, and rare in the end. */
  effect: { firstMs: second, maxMs: hour },
} as const

/** The embedded store. */
export const sqliteBounds = {
  /** Another process holds the write lock for milliseconds; one that holds it this long is in trouble. */
  busyTimeoutMs: 2 * second,
  /** Where SQLite does not wait for a lock by itself, it is asked again this often: about as often as it would look. */
  insistMs: 10,
  /** A thread that is silent this long, after it had the lock, is hung: it is given up and a new one is started. */
  answerMs: 10 * second,
  /** Operations that may wait for their turn. At a few thousand a second, whoever comes after them waits in vain. */
  queue: 10_000,
} as const

/** PostgreSQL. */
export const postgresBounds = {
  /** The first with a choice of compression. */
  oldestVersion: 14,
  /** No lease is judged by the application's clock, but logs are read by it: further apart than this they mislead. */
  clockApartMs: 5 * second,
  /** Statements of one kind that are under way at once: while one is flushed to disk, the next is gathered. */
  lanes: 2,
  /** Operations that share one statement. More of them gain little, and all of them fail together. */
  batch: 128,
  /** Bodies above this travel alone: a batch is text, and twice as long as its bodies. */
  batchedBodyBytes: 64 * 1024,
  /** A statement that takes this long waits for a lock or a disk in trouble; others need not wait with it. */
  laneMs: 100,
  /** Operations of one kind that may wait for a lane. Whoever comes after them would wait in vain. */
  queue: 10_000,
  /**
   * A connection that owes an answer keeps its place in the pool for this long. If it lost it at once, the pool would open
   * another one, and a table that somebody locked would fill the server with connections that wait.
   */
  lateMs: 30 * second,
  /** What a duplicate is told of a request that is one transaction: it has no lease, and is over soon. */
  singleLeftMs: second,
  /** The server ends a handler's statement by itself; only where it stays silent for this much longer do we. */
  silenceMs: second,
} as const

/** Redis. */
export const redisBounds = {
  /** The first whose scripts may read the clock and write. */
  oldestVersion: 7,
  /** Records that one script looks at for a list, and keys that it counts out: a few milliseconds in which nobody else is served. */
  stretch: 500,
  /** How often a person's deed is tried anew while others write to the same log. */
  deeds: 100,
  /** Batches of expired keys that are counted out before a tenant is counted as it stands. */
  counts: 1_000,
} as const

/** Answers that are given again without asking the store. */
export const replayCacheBounds = {
  /** Some ten thousand answers of a usual size; a process has a hundred times as much. */
  bytes: 16 * 1024 * 1024,
  /** Most retries come within seconds, and whatever is done to a record by hand holds everywhere after this. */
  maxAgeMs: 5 * second,
  /** Nobody who has purged a record should have to wait longer. What all nodes share is kept for so long. */
  longestMs: minute,
  /** Larger answers are rare, would drive out many others, and are not what a store is slow at. */
  answerBytes: 64 * 1024,
  /** What the objects of an entry take besides their texts. */
  entryBytes: 512,
  /** A shared cache that takes longer than this is no quicker than the store behind it. */
  answerMs: 50,
  /** One that failed is left alone for so long, so that requests do not wait for it one after another. */
  restMs: second,
  /** Answers that are on their way to a shared cache. Beyond them it is too slow to be worth it. */
  writes: 1_000,
} as const

/** The workers. All of them may run on every node: passes are short, indexed, and skip what another node holds. */
export const workerBounds = {
  /** A key that a crash left behind is stuck for its lease, and this long at most. */
  sweepMs: 2 * second,
  /** Each is one short statement; those that somebody testified about are settled in the same pass. */
  sweepBatch: 100,
  /** Clients may be gone, but their customers wait. */
  resumeMs: 2 * second,
  /** Operations that one pass goes on with; each runs its handler here. */
  resumeBatch: 64,
  /** People wait for some doubts, and most providers know within seconds. */
  reconcileMs: 2 * second,
  /** Doubts that one pass asks about; another node leaves them alone meanwhile. */
  reconcileBatch: 64,
  /** What is past retention disturbs nobody: every step judges that for itself, so there is no hurry. */
  reapMs: minute,
  /** Rows of one statement of the reaper: it holds their locks and its share of the disk for a few milliseconds. */
  reapBatch: 200,
  /** Between two full batches traffic has the database to itself. */
  reapPauseMs: 50,
  /** What is done stays to be looked at as long as a usual dispute takes to come up. */
  keepEffectsMs: 30 * day,
  /** Longer than any provider delivers an event again: the longest seen so far do for days. */
  keepEventsMs: 30 * day,
  /**
   * What was said about something that nobody here knows. Longer than a usual record and its tombstone stand, so that what
   * was said of those has gone with them.
   */
  keepTestimoniesMs: 45 * day,
  /** However often a worker is nudged, it leaves this long between two passes: a storm of doubts is no storm of passes. */
  nudgeGapMs: 250,
  /** What a provider has done and we do not know of is found within a day. */
  ledgerMs: day,
  /** Entries of a provider's ledger that are held at once: a few hundred megabytes. More are compared in shorter windows. */
  ledgerEntries: 2_000_000,
  /** What was begun this recently may still be on its way, on our side or on the provider's. */
  ledgerSettleMs: hour,
  /** How long one ledger may be read: an export of a day comes in minutes, and one that hangs holds up the others. */
  ledgerReadMs: 10 * minute,
  /** How far back of its window a ledger is read for effects that were first tried before: retries rarely go on for longer. */
  ledgerReachMs: 3 * day,
  /** Differences of one kind that a comparison lists; the rest is counted. */
  ledgerListed: 10_000,
} as const

/** The outbox. */
export const effectBounds = {
  /** Settlements of a worker that are under way at once: more find the server's cores and its disk busy. */
  settlingLanes: 2,
  /** A provider that is silent this long may have acted all the same. */
  timeoutMs: 10 * second,
  /** What a lease has over the longest call: time to ask for it, and to write down how the call ended. */
  leaseMarginMs: 20 * second,
  /** After three days a person knows more than a retry. */
  withinMs: 3 * day,
  /** With the usual pauses three days are over before: this ends only what comes back without them. */
  attempts: 200,
  /** Retries stop this long before a provider forgets a key: clocks differ, and a request may be on its way for a while. */
  keyMarginMs: limits.keyMemoryMarginMs,
  /** Claims of one effect that were never settled: more than this, and it is the effect that ends its workers. */
  poison: 5,
  /** The same of one that was never called: a store that loses its replies for minutes must not kill what it holds. */
  uncalled: 100,
  /** From so many on it is carried out by itself, so that nothing that lies beside it is taken for it. */
  suspicious: 2,
  /** When a suspect is due again that was given back to be claimed by itself, should that not happen. */
  suspectMs: 5 * second,
  /** Calls of one worker that are under way at once: enough to hide a provider's latency, too few to drown it. */
  concurrency: 32,
  /** Effects that a worker leases at once: twice its calls, so that none waits for the store; what it holds, no other can take. */
  batch: 64,
  /** How often an idle worker looks for effects that no nudge told it of: what another process wrote waits this long at most. */
  idleMs: second,
  /** How often leases that ran out are looked for: a lease is longer. */
  sweepMs: 5 * second,
  /** Orders that are looked after at once: a few milliseconds, and soon all of them have been. */
  orders: 200,
  /** A claim is waited for as long as any store does by itself: a reply that nobody hears leaves what it leased to its lease. */
  claimMs: 30 * second,
  /** Steps of the store that are tried for one effect, before its lease is left to run out. */
  storeTries: 5,
  /** How often a reconciler looks for doubts whose time has come: people wait for some of them. */
  lookMs: 2 * second,
  /** Doubts that a reconciler takes for one pass, of all kinds. */
  doubts: 100,
  /** Looks in vain before a person is asked: with the pauses between them about a day. */
  looks: 30,
  /** A relayed effect whose message was not carried out by then is sent again. */
  visibilityMs: minute,
  /** Dead letters that are shown or redriven at once. */
  deadLetters: 100,
  /** Pages of dead letters that a redrive looks through for some that are not refused: a few seconds. */
  redrivePages: 1_000,
} as const

/** What watches over an engine. */
export const telemetryBounds = {
  /** How often the store is asked what it holds: as often as a Prometheus usually scrapes. */
  sampleMs: 15 * second,
  /** Rows of one kind that are counted for a gauge: a few milliseconds. More of them are a number that nobody counts on. */
  countedRows: 10_000,
  /** Different sets of labels of one metric: policies, kinds and workers are named by code. Who makes names up shares one. */
  series: 1_000,
  /** Tenants whose rates are kept, those that ask most: a few hundred kilobytes. */
  tenants: 1_000,
  /** Those of them that are looked at to find one that may go: all of them would be too many for a request to wait for. */
  tenantsLookedAt: 8,
  /** Rates are of this long, and of the part of the next that has passed: short enough to see a spike, long enough to trust it. */
  rateWindowMs: 5 * minute,
  /** Bounds of the buckets of durations, in seconds: from a commit in memory to the longest that a proxy waits. */
  durationsSeconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
} as const

/** What operators use. */
export const adminBounds = {
  /** Records whose returns a process counts: a few megabytes. */
  talliedRecords: 10_000,
  /** What a page shows where nobody says how much: more does not fit on a screen. */
  page: 50,
  /** And at most: whoever wants more pages on. */
  largestPage: 500,
  /** Pages that the command line goes through by itself for one that is full: a million records, in some ten seconds. */
  pagesLookedAt: 200,
  /** Effects of a record whose entries in the audit log are in its story: few records have as many. */
  storyEffects: 20,
  /** Tenants that a page of effects goes through, for who may look at some: each is a question of about a millisecond. */
  tenantsAsked: 20,
  /** Keys of a tenant that are counted for somebody who looks: a quick count, and a lower bound beyond it. */
  countedKeys: 10_000,
  /** Events that a listener may be behind; what comes then is not sent, and counted. */
  streamedEvents: 256,
  /** Listeners at once: each is a connection, and hears everything. */
  streams: 16,
  /** How often a listener hears that nothing has happened: proxies close what is silent for a minute. */
  heartbeatMs: 15 * second,
  /** When a listener whose stream has ended comes back: soon, and not at once, as all of them do it together. */
  streamRetryMs: 2 * second,
  /** The longest body of a write: an answer that somebody settles with is the most of it. */
  bodyBytes: 2 * 1024 * 1024,
  /** How long an answer to a write is kept, for whoever sends it again. */
  retention: '1d',
} as const
