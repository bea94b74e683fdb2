import type { Answer, Guarded, PolicyOptions } from 'hapax'
import { keyOf, scopeOf } from 'hapax'
import { describe, expect, test } from 'vitest'
import { type Bench, bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'

const request = { scope: 'acme', key: 'k-1', input: 1 }

const answering = (status: number): Answer => ({ status, headers: [], body: Buffer.from(`${status}`) })

/** A request whose handler answers with a status, as a door would hand it in. */
function guardedBy({ policy }: Bench, answer: Answer, options: Partial<PolicyOptions> = {}): Guarded<never> {
  return {
    scope: scopeOf('acme'),
    key: keyOf('k-1'),
    policy: policy(options),
    source: { subject: ['POST', '/payments'], mediaType: 'application/json', body: new TextEncoder().encode('{}') },
    handler: async () => answer,
    toAnswer: (value) => value as Answer,
    errorToAnswer: () => answering(500),
  }
}

describe('a handler that throws', () => {
  test('lets the retry run again, by default', async () => {
    const { hapax, policy, record, events } = bench()
    const guarded = { ...request, policy: policy() }
    const refused = Object.assign(new Error('card network down'), { code: 'ECONNREFUSED' })
    await expect(hapax.run(guarded, () => Promise.reject(refused))).rejects.toBe(refused)
    expect(await record('k-1')).toMatchObject({ state: 'failed_retryable', errorCode: 'ECONNREFUSED' })
    expect(await hapax.run(guarded, async (work) => work.attempt)).toMatchObject({ value: 2, replayed: false })
    expect(events).toEqual(['reserved', 'key_looks_guessable', 'failed', 'resumed', 'completed'])
  })

  test('leaves doubt where the policy says so, and no retry runs', async () => {
    const { hapax, policy, record } = bench()
    const guarded = { ...request, policy: policy({ onError: 'unknown' }) }
    const timeout = new Error('gateway timed out')
    await expect(hapax.run(guarded, () => Promise.reject(timeout))).rejects.toMatchObject({
      code: 'outcome_unknown',
      cause: timeout,
    })
    expect(await record('k-1')).toMatchObject({ state: 'unknown', errorCode: 'Error' })
    await expect(hapax.run(guarded, async () => 'second')).rejects.toMatchObject({ code: 'outcome_unknown' })
  })

  test('is an answer where the policy stores failures: every retry fails the same way', async () => {
    const { hapax, policy } = bench()
    const guarded = { ...request, policy: policy({ onError: 'store' }) }
    let runs = 0
    const failing = async () => {
      runs++
      throw new Error('no such customer')
    }
    await expect(hapax.run(guarded, failing)).rejects.toMatchObject({
      code: 'handler_failed',
      message: 'no such customer',
    })
    await expect(hapax.run(guarded, failing)).rejects.toMatchObject({
      code: 'handler_failed',
      message: 'no such customer',
    })
    expect(runs).toBe(1)
  })

  test('may be judged by its error: proven not to have begun, it is released', async () => {
    const { hapax, policy, record, events } = bench()
    const onError = (error: unknown) => ((error as Error).message === 'invalid' ? 'release' : 'unknown')
    const guarded = { ...request, policy: policy({ onError }) }
    await expect(hapax.run(guarded, () => Promise.reject(new Error('invalid')))).rejects.toThrow('invalid')
    expect(await record('k-1')).toBeUndefined()
    expect(events).toContain('released')
    expect(await hapax.run({ ...guarded, input: 'corrected' }, async () => 'ran')).toMatchObject({ value: 'ran' })
  })
})

test('a policy that judges failures is given the answer when the handler gave one', async () => {
  const b = bench()
  const judged: unknown[] = []
  const onError = (failure: unknown) => {
    judged.push(failure)
    return 'unknown' as const
  }
  await b.hapax.execute(guardedBy(b, answering(503), { onError }))
  expect(judged).toEqual([answering(503)])
  expect((await b.record('k-1'))?.state).toBe('unknown')
})

test('a doubt is named by a code that every store can keep', async () => {
  const { hapax, policy, record } = bench()
  const doubting = hapax.run({ ...request, policy: policy() }, async (work) =>
    work.doubt(`time\u0000out ${'x'.repeat(200)}`),
  )
  await expect(doubting).rejects.toMatchObject({ code: 'outcome_unknown' })
  expect((await record('k-1'))?.errorCode).toMatch(/^time\?out x{91}$/)
})

describe('a policy that cannot say what an error means', () => {
  const onErrors = [
    () => {
      throw new Error('a bug in onError')
    },
    () => 'nonsense' as 'retry',
  ]
  test.each(onErrors)('leaves doubt, never a second run', async (onError) => {
    const { hapax, policy, record } = bench()
    const guarded = { ...request, policy: policy({ onError }) }
    await expect(hapax.run(guarded, () => Promise.reject(new Error('x')))).rejects.toMatchObject({
      code: 'outcome_unknown',
    })
    expect((await record('k-1'))?.state).toBe('unknown')
  })
})

describe('a failure that cannot even be named', () => {
  const nameless = Object.defineProperty(new Error('x'), 'name', { value: 7 })
  const secretive = Object.defineProperty(new Error('x'), 'code', {
    get() {
      throw new Error('no')
    },
  })
  test.each([nameless, secretive, null, undefined, 'text'])('still ends its run: %#', async (error) => {
    const { hapax, policy, record } = bench()
    const guarded = { ...request, policy: policy() }
    await hapax.run(guarded, () => Promise.reject(error)).catch(() => 'threw')
    expect((await record('k-1'))?.state).toBe('failed_retryable')
  })

  test.each([undefined, {}, ''])('is still a doubt when the handler raised one: %j', async (reason) => {
    const { hapax, policy, record } = bench()
    const doubting = hapax.run({ ...request, policy: policy() }, async (work) => work.doubt(reason as string))
    await expect(doubting).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(await record('k-1')).toMatchObject({ state: 'unknown', errorCode: 'unnamed' })
  })
})

test('an answer that is not for good is for whoever it was made for: a duplicate that waits runs by itself', async () => {
  const b = bench()
  const guarded = guardedBy(b, answering(503), { concurrency: 'wait' })
  const inside = gate<Answer>()
  const first = b.hapax.execute({ ...guarded, handler: () => inside.opened })
  await b.clock.settle()
  const duplicate = b.hapax.execute({ ...guarded, handler: async () => answering(201) })
  await b.clock.settle()
  inside.open(answering(503))
  expect(await first).toMatchObject({ answer: { status: 503 }, stored: false, replayed: false })
  expect(await duplicate).toMatchObject({ answer: { status: 201 }, stored: true, replayed: false })
  expect(b.events).not.toContain('shared')
})

test('an answer that is not for good is given even when its failure cannot be written at once', async () => {
  const b = bench()
  b.faults.breakAt('fail', 'before')
  expect(await b.hapax.execute(guardedBy(b, answering(503)))).toMatchObject({ kind: 'answered', stored: false })
  b.faults.mend()
})

describe('an open doubt', () => {
  test('beats any answer the handler gives', async () => {
    const { hapax, policy, record, events } = bench()
    const guarded = { ...request, policy: policy() }
    const doubting = hapax.run(guarded, async (work) => {
      work.doubt('the provider did not answer')
      return 'looks fine'
    })
    await expect(doubting).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(await record('k-1')).toMatchObject({ state: 'unknown', errorCode: 'the provider did not answer' })
    expect(events).toContain('doubted')
  })

  test('beats an error too, whatever the policy makes of errors', async () => {
    const { hapax, policy, record } = bench()
    const doubting = hapax.run({ ...request, policy: policy({ onError: 'retry' }) }, async (work) => {
      work.doubt('reset')
      throw new Error('and then')
    })
    await expect(doubting).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect((await record('k-1'))?.state).toBe('unknown')
  })
})

describe('an answer', () => {
  test.each([200, 201, 204, 302, 400, 402, 404, 409, 422])('of status %i is stored and replayed', async (status) => {
    const b = bench()
    const first = await b.hapax.execute(guardedBy(b, answering(status)))
    const retry = await b.hapax.execute(guardedBy(b, answering(299)))
    expect(first).toMatchObject({ kind: 'answered', stored: true, replayed: false, answer: { status } })
    expect(retry).toMatchObject({ kind: 'answered', stored: true, replayed: true, answer: answering(status) })
  })

  test.each([408, 425, 429, 500, 502, 503, 504])(
    'of status %i tells nothing for good: the retry runs',
    async (status) => {
      const b = bench()
      const first = await b.hapax.execute(guardedBy(b, answering(status)))
      expect(first).toMatchObject({ kind: 'answered', stored: false, answer: { status } })
      expect(await b.record('k-1')).toMatchObject({ state: 'failed_retryable', errorCode: `answered_${status}` })
      expect(await b.hapax.execute(guardedBy(b, answering(201)))).toMatchObject({
        replayed: false,
        answer: { status: 201 },
      })
    },
  )

  test('of status 500 is replayed where the policy stores failures', async () => {
    const b = bench()
    await b.hapax.execute(guardedBy(b, answering(500), { onError: 'store' }))
    const retry = await b.hapax.execute(guardedBy(b, answering(201), { onError: 'store' }))
    expect(retry).toMatchObject({ replayed: true, answer: { status: 500 } })
  })

  test('over the size limit goes whole to its first caller and is withheld from retries; nothing runs again', async () => {
    const { hapax, policy, events } = bench()
    const guarded = { ...request, policy: policy({ maxAnswerBytes: 10 }) }
    expect(await hapax.run(guarded, async () => 'x'.repeat(100))).toMatchObject({ value: 'x'.repeat(100) })
    let runs = 0
    await expect(hapax.run(guarded, async () => ++runs)).rejects.toMatchObject({ code: 'answer_withheld' })
    expect(runs).toBe(0)
    expect(events).toContain('withheld')
  })

  test('that cannot be written down does not make the retry run again', async () => {
    const { hapax, policy, events } = bench()
    const guarded = { ...request, policy: policy() }
    await expect(hapax.run(guarded, async () => 10n)).rejects.toMatchObject({ code: 'answer_withheld' })
    expect(events).toEqual(['reserved', 'key_looks_guessable', 'completed', 'withheld'])
    let runs = 0
    await expect(hapax.run(guarded, async () => ++runs)).rejects.toMatchObject({ code: 'answer_withheld' })
    expect(runs).toBe(0)
  })
})

describe('a stored answer of an older version', () => {
  const old = { scope: 'acme', key: 'k-1', input: 1 }

  test('is brought to the present one by the upgrade hook', async () => {
    const { hapax, policy } = bench()
    await hapax.run({ ...old, policy: policy({ answerVersion: 1 }) }, async () => ({ amount: 12 }))
    const upgradeAnswer = (answer: Answer, fromVersion: number): Answer => ({
      ...answer,
      body: new TextEncoder().encode(
        JSON.stringify({ upgradedFrom: fromVersion, was: new TextDecoder().decode(answer.body) }),
      ),
    })
    const retry = await hapax.run({ ...old, policy: policy({ answerVersion: 2, upgradeAnswer }) }, async () => 'again')
    expect(retry).toMatchObject({ value: { upgradedFrom: 1, was: '{"amount":12}' }, replayed: true })
  })

  test('replays as it is without a hook, and one of a newer version too', async () => {
    const { hapax, policy } = bench()
    await hapax.run({ ...old, policy: policy({ answerVersion: 2 }) }, async () => 'v2')
    expect(await hapax.run({ ...old, policy: policy({ answerVersion: 3 }) }, async () => 'x')).toMatchObject({
      value: 'v2',
    })
    const upgradeAnswer = () => answering(500)
    expect(
      await hapax.run({ ...old, policy: policy({ answerVersion: 1, upgradeAnswer }) }, async () => 'x'),
    ).toMatchObject({ value: 'v2' })
  })
})
