import { type Guarded, keyOf, type StoredAnswer, scopeOf } from 'hapax'
import { expect, test } from 'vitest'
import { type Bench, bench } from '../support/bench.js'
import { bounded } from '../support/waiting.js'

const answer = { status: 200, headers: [], body: new TextEncoder().encode('{}') }

/** A request whose answer is given again only to whom `authorizeReplay` says. */
function guardedBy({ policy }: Bench, authorizeReplay: (answer: StoredAnswer) => boolean | Promise<boolean>) {
  return {
    scope: scopeOf('acme'),
    key: keyOf('k-1'),
    policy: policy(),
    source: { subject: ['POST', '/payments'], mediaType: 'application/json', body: answer.body },
    handler: async () => answer,
    toAnswer: () => answer,
    errorToAnswer: () => answer,
    authorizeReplay,
  } satisfies Guarded<never>
}

test('a right that nobody decides on is waited for within a bound, and the retry is told to ask again', async () => {
  const given = bench(undefined, { storeTimeout: '200ms' })
  const guarded = guardedBy(given, () => new Promise(() => {}))
  await given.hapax.execute(guarded)
  const refused = Promise.resolve(given.hapax.execute(guarded))
  await given.clock.advance(200)
  expect(await bounded(refused, 'the refusal')).toMatchObject({
    kind: 'refused',
    error: { code: 'replay_undecided', retryable: true, retryAfterMs: expect.any(Number) },
  })
  expect(await given.record('k-1')).toMatchObject({ state: 'completed' })
  // Nothing is under way any more, so closing needs no time.
  await bounded(given.hapax.close(), 'closing')
})

test.each([true, false])('a right that is decided at once, or later, decides: %s', async (mayPass) => {
  const given = bench()
  await given.hapax.execute(guardedBy(given, () => true))
  const expected = mayPass ? { kind: 'answered', replayed: true } : { error: { code: 'replay_forbidden' } }
  expect(await given.hapax.execute(guardedBy(given, () => mayPass))).toMatchObject(expected)
  expect(await given.hapax.execute(guardedBy(given, async () => mayPass))).toMatchObject(expected)
})

test('a right that throws gives nothing away', async () => {
  const given = bench()
  await given.hapax.execute(guardedBy(given, () => true))
  const lost = new Error('the directory is down')
  for (const authorizeReplay of [
    () => Promise.reject(lost),
    () => {
      throw lost
    },
  ])
    await expect(given.hapax.execute(guardedBy(given, authorizeReplay))).rejects.toBe(lost)
})
