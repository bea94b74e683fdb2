import { storeConformance } from 'hapax/conformance'
import { expect, test } from 'vitest'
import { memoryHarness } from './memory-harness.js'
import { postgresHarness } from './postgres-harness.js'
import { pgLibrary } from './postgres-libraries.js'
import { redisHarness } from './redis-harness.js'
import { ioredis, ioredisCluster, nodeRedis, nodeRedisCluster } from './redis-libraries.js'
import { simulatedHarness } from './simulated-harness.js'
import { sqliteHarness } from './sqlite-harness.js'

/**
 * Which store may skip which promise. A skip that is not written here fails the run, and so does one that is
 * written here but no longer needed.
 */
const allowed = {
  simulated: [
    'where nothing is on record, nothing is measured',
    'a key is measured in whatever state, on every node, until it is buried',
    'the oldest run that has not ended is told by when it began, and no renewal makes it younger',
    'a run that goes on after another is as old as itself',
    'the oldest doubt is told by when it arose, and how many a person is to look at',
    'a claim whose lease is over is still in progress, until it is swept',
    'of each kind no more are counted than asked',
    'a measure refuses a bound that is no whole number from 1',
    'what a reaping would take is counted up to a bound, and not taken by that',
    'measuring changes nothing',
    'what has effects that are not final is nothing that a reaping would take',
    'an effect lags from when it could be carried out, and waits from when it was written',
    'effects behind another of their order wait, and do not lag by themselves',
    'dead effects and doubts about effects are counted, and how old the oldest doubt is',
    'of effects, too, no more are counted than asked',
    'an empty log has no entries, and is whole',
    'a settlement is written down with who, why, before and after, and is there when it is',
    'what somebody gave with his word is written down by its hash, and how it stood as operators are shown it',
    'what is not in doubt is not settled, and nothing is written down',
    'a doubt that was claimed again since is not settled by what was said of the claim before',
    'who reads the log may do to what he was given what he likes',
    'what is said too early is refused, with how long to wait',
    'an answer that is purged is gone at once, and the key runs as new in the next generation',
    'a purge never touches what is unknown, in progress, or of another generation',
    'a doubt can be made due, also one that was left to a person',
    'of twenty writers at once, on two nodes, each has its place in one chain',
    'of two who settle the same doubt at once one does, and one is told so',
    'entries are paged in either order, and found by what they are about',
    'the log outlives what it is about',
    'a doubt about an effect that landed is settled with its result, kept as evidence, and written down',
    'a doubt about an effect that did not land is settled once nobody who was slow can act',
    'an effect that is not in doubt, not there, or claimed again since is not settled, and nothing is written down',
    'of two who settle the same doubt about an effect at once one does, and one is told so',
    'a doubt about an effect that somebody looks at is held for him, and written down; what is none is not',
    'each effect that is redriven or discarded has an entry of its own, and what is not dead has none',
    'an answer whose effects are not final is not purged',
  ],
  memory: [
    'what has effects that are not final is nothing that a reaping would take',
    'an effect lags from when it could be carried out, and waits from when it was written',
    'effects behind another of their order wait, and do not lag by themselves',
    'dead effects and doubts about effects are counted, and how old the oldest doubt is',
    'of effects, too, no more are counted than asked',
    'with a tombstone go its effects and what was said about them, and the key may write the same ones anew',
    'a record is neither buried nor deleted before its effects are final, however late',
    'a tombstone stands its whole time from when its last effect was final, which may be late',
    'with an effect that is reaped by itself goes what was said about it, and its record stays',
    'what was said about an effect that is here stays, however old',
    'those that were done are listed by when they were, from a time on, page by page',
    'a transaction that completes shows its row and its answer together',
    'a transaction that ends a phase shows its row and its recovery point together',
    'until it commits, nobody else sees anything of a transaction',
    'a transaction whose body throws leaves nothing, and throws the same',
    'after a transaction that was rolled back the same claim may try again',
    'a claim whose lease was taken over commits nothing in a transaction',
    'a claim of a released record commits nothing in a transaction',
    'a claim of an expired generation commits nothing in a transaction',
    'a transaction that is repeated after it committed commits nothing more, and its answer stands',
    'a claim in doubt ends no phase in a transaction',
    'the last claim may complete a doubt in a transaction, with its row',
    'transactions of many claims at once each commit their own row and record',
    'one transaction shows its row and its answer together',
    'its body is given the claim and the record as they would be',
    'while its body runs nobody else sees a row or a record of it',
    'a body that throws leaves nothing, throws the same, and the next request runs',
    'an answer whose rows are undone is stored without them',
    'a duplicate that comes at the same time never runs the body again',
    'of a body that runs and a duplicate of normal mode one has the key, and the other leaves nothing',
    'requests with keys of their own each commit their own row and answer',
    'another request under the key is judged, and its body does not run',
    'what normal mode holds is judged, and nothing of it changes',
    'a doubt is judged, and so is the run-out lease that becomes one',
    'what failed before goes on under the next fence, and stays failed if the body throws',
    'a key that expired is the next generation, or refused where the policy says so',
    'whoever wants to be told that a key is new is told, and nothing is taken',
    'the effects of one transaction commit with it, and not without it',
    'an answer whose rows are undone leaves no effect',
    'an effect comes to its worker as it was written',
    'workers that claim at once never get the same effect, and leave none',
    'a claim takes as many as it was told, those first that were due first',
    'an effect is claimed when it is due, and not before',
    'a worker gets the kinds that it asked for and no others',
    'an effect whose lease is over before its call began is claimed again, under the next fence',
    'a lease that is renewed lasts longer, and a stale one is not renewed',
    'whoever lost the lease of an effect can change nothing of it',
    'a call that began renews the lease, and from there on the effect is not claimed again',
    'what the provider said is kept, and the effect comes to the next worker with it',
    'effects are deleted once they have been final for long enough, and not while they are open',
    'a record does not expire while one of its effects is open, and is buried when all are final',
    'of effects that share an order one is claimed at a time, as they were written',
    'an order goes on across records, and an effect that is due later holds up those behind it',
    'effects of other orders and of none are not held up',
    'two scopes never share an order',
    'a retry holds up those behind it until it is done',
    'an effect in doubt holds up those behind it until its doubt is resolved',
    'a dead effect holds up those behind it until a person ends it',
    'an effect whose worker vanished holds up those behind it, and comes first',
    'an effect that was given back is the first of its order again',
    'whoever ends an effect, and however, lets the next of its order be had at once, on any node',
    'a settlement whose reply was lost, and that is repeated, leaves the next of its order to be had',
    'of orders that are written to and worked on at once, on two nodes, none is forgotten and none runs too early',
    'writers to one order at once leave effects that run one after another',
    'an effect that is done keeps what the provider said, and is never claimed again',
    'a retry is claimed when its time has come, with the same downstream key',
    'an effect that is given back is as if it had not been claimed, save for its fence',
    'an effect whose call began is not given back',
    'a dead effect keeps everything, and is claimed by nobody',
    'many claims end in one step, each in its own way, and a stale one is told apart',
    'a claim that ended as done and says so again is answered as before, and nothing changes',
    'a claim that ended as retry and says so again is answered as before, and nothing changes',
    'a claim that ended as unknown and says so again is answered as before, and nothing changes',
    'a claim that ended as dead and says so again is answered as before, and nothing changes',
    'a claim that ended as release and says so again is answered as before, and nothing changes',
    'a claim that ended in one way does not end in another',
    'a dead effect that is redriven runs again with the same downstream key, its attempts counted anew',
    'only a dead effect is discarded, and then it is final',
    'effects are listed by state and kind, each once, however they are paged',
    'effects of a tenant are listed by its scopes, each once, and never those of a tenant whose name begins alike',
    'an effect whose lease is over once its call began is swept into doubt, and no other',
    'a sweep of effects takes at most as many as it was told',
    'a doubt about an effect comes to one node when its time has come, and is put off for the others',
    'a doubt about an effect is postponed, or left to a person',
    'a doubt that landed goes to the next worker with its result',
    'a doubt that did not land is ready to be called, with the same downstream key',
    'a doubt that did not land has not shown its key: when it was first claimed is counted anew',
    'a result that was recorded outweighs who says later that it did not land, and when it began stays',
    'a doubt about an effect that was left to a person is due again once somebody testifies about it',
    'who looked at a doubt about an effect does not put off what was said about it since',
    'only a doubt is resolved or postponed',
    'what was found out about one attempt neither resolves nor postpones the doubt about a later one',
    'the last claim may still say that a doubt is done, which nobody has resolved: it was only slow',
    'after a doubt was resolved its last claim can change nothing',
    'a commit shows its row, its answer and its effects together',
    'a phase shows its recovery point and its effects together, and the next phase may have its own',
    'a phase that rolls back leaves no effect',
    'a claim that was lost leaves neither row nor effect',
    'what follows from an effect commits with its settlement',
    'what follows from an effect is undone when its lease was lost meanwhile',
    'what follows from an effect is applied once, however often it is tried',
    'when applying fails, nothing is written, the error comes out as it was thrown, and it may be tried again',
    'an event is processed with its rows, and once: the next delivery is a duplicate',
    'an event of another provider, or with another id, is another event',
    'an event whose work fails leaves nothing, and its redelivery is processed',
    'of twenty deliveries at once one is processed, and nineteen are duplicates',
    'a delivery that comes while the first is under way waits, and is processed if that one fails',
    'what an event testifies commits with its work, and not without it',
    'a doubt that was left to a person is due again, with the event that testifies about it',
    'events are forgotten in batches once they are old enough, and not before',
    'a doubt about an effect that landed is settled with its result, kept as evidence, and written down',
    'a doubt about an effect that did not land is settled once nobody who was slow can act',
    'an effect that is not in doubt, not there, or claimed again since is not settled, and nothing is written down',
    'of two who settle the same doubt about an effect at once one does, and one is told so',
    'a doubt about an effect that somebody looks at is held for him, and written down; what is none is not',
    'each effect that is redriven or discarded has an entry of its own, and what is not dead has none',
    'an answer whose effects are not final is not purged',
    'every operation on a cut connection fails with a typed error, and the store comes back',
    'a cut connection leaves each record as it was or as it was to be',
    'a reservation that was cut off is the same claim when it is sent again',
    'a completion that was cut off can be repeated',
    'another node does not notice that a connection was cut',
    'a connection cut before COMMIT leaves neither row nor answer',
    'a connection cut around COMMIT leaves row and answer, or neither',
    'after a transaction was cut off the same claim may try again',
  ],
}

test('the memory store skips what it is allowed to skip, and nothing else', () => {
  expect(skippedBy(storeConformance(memoryHarness))).toEqual(allowed.memory)
})

test.each([ioredis, nodeRedis])('the store of $name skips what the memory store does, and can be cut', (library) => {
  const faults = storeConformance(memoryHarness).filter(({ subject }) => subject === 'faults')
  const cuttable = new Set(faults.map(({ name }) => name))
  expect(cuttable.size).toBe(5)
  expect(skippedBy(storeConformance(redisHarness(library, () => 0)))).toEqual(
    allowed.memory.filter((name) => !cuttable.has(name)),
  )
})

test.each([ioredisCluster, nodeRedisCluster])('the store of $name skips what the memory store does', (library) => {
  expect(skippedBy(storeConformance(redisHarness(library, () => 0)))).toEqual(allowed.memory)
})

test('the sqlite store skips nothing', () => {
  expect(skippedBy(storeConformance(sqliteHarness))).toEqual([])
})

test('the postgres store skips nothing', () => {
  const nowhere = { serverUrl: '', url: '', connection: 'direct' } as const
  expect(skippedBy(storeConformance(postgresHarness({ name: 'postgres', library: pgLibrary, ...nowhere })))).toEqual([])
})

test('the simulated store skips what it is allowed to skip, and nothing else', () => {
  expect(skippedBy(storeConformance(simulatedHarness))).toEqual(allowed.simulated)
})

test('no two promises of the suite share a name', () => {
  const names = storeConformance(memoryHarness).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test('a harness that neither offers a capability nor says why not is told so', async () => {
  const silent = { ...memoryHarness, lacks: {} }
  const needy = storeConformance(silent).filter(({ name }) => allowed.memory.includes(name))
  expect(needy).toHaveLength(allowed.memory.length)
  for (const { run } of needy)
    await expect(run()).rejects.toThrow(/neither offers "(transactions|cut|effects|inbox|single)" nor says/)
})

function skippedBy(cases: ReturnType<typeof storeConformance>): readonly string[] {
  return cases.filter(({ skip }) => skip !== undefined).map(({ name }) => name)
}
