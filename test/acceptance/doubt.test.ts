import { type Answer, keyOf, type PolicyOptions, type Settlement, scopeOf } from 'hapax'
import { beforeEach, expect, test } from 'vitest'
import { lostReply } from '../sandbox/lost-reply.js'
import { pay, tea } from '../sandbox/payment-client.js'
import { answer, ask } from './support/ask.js'
import { onBothDatabases } from './support/black-box.js'
import { type FileNode, type TestFile, testFile } from './support/test-file.js'
import { days, noon } from './support/times.js'

/** An outcome that nobody knows: what a client can do about it, which is nothing, and what evidence can. */

let file: TestFile
let node: FileNode
beforeEach(async () => {
  file = await testFile()
  node = file.node()
  await file.setTime(noon)
  const policy = node.hapax.policy({ name: 'payments.create' })
  const doubtful = node.hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, async (work) => work.doubt('no reply'))
  await expect(doubtful).rejects.toMatchObject({ code: 'outcome_unknown' })
})

onBothDatabases((start) => {
  test('over HTTP: 409 outcome_unknown with a Retry-After, no payment, and the key is due for reconciliation [S2-023 S2-101]', async () => {
    const sandbox = await start()
    const body = tea()
    await sandbox.withStore((store) => lostReply(store, 'k', body))
    await sandbox.withStore(async (store) => {
      const record = await store.find({ scope: scopeOf('acme'), key: keyOf('k') })
      expect(record).toMatchObject({ state: 'unknown', reconcileAfter: expect.any(Number) })
    })
    for (let time = 0; time < 3; time++) {
      const refused = await pay(sandbox, { key: 'k', body })
      expect(refused).toMatchObject({ status: 409, json: { code: 'outcome_unknown', retry_after: 30 } })
      expect(refused.headers.get('retry-after')).toBe('30')
    }
    expect(await sandbox.paymentsOf(body)).toEqual([])
  })
})

test('no client request ends a doubt, whatever its policy and however late: nothing runs, nothing changes [S2-053 S2-119]', async () => {
  const before = file.row('k')
  const policies: Partial<PolicyOptions>[] = [
    {},
    { onCrash: 'retry', onError: 'retry' },
    { concurrency: 'wait' },
    { concurrency: 'accept' },
    { onExpired: 'run', retention: '24h' },
  ]
  for (const time of [noon, noon + 29 * days, noon + 3_650 * days]) {
    await file.setTime(time)
    for (const options of policies) {
      const policy = node.hapax.policy({ name: 'payments.create', ...options })
      const retry = node.hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, async () => expect.fail('it ran'))
      await expect(retry, JSON.stringify(options)).rejects.toMatchObject({ code: 'outcome_unknown' })
    }
  }
  expect(file.row('k')).toEqual(before)
})

test('evidence that nothing was created lets the next request run [S2-117]', async () => {
  const why = 'the provider knows no payment under this key'
  expect(await settled({ kind: 'not_landed' }, why)).toBe(true)
  expect(file.row('k')).toMatchObject({ status: 'failed_retryable', recovery_point: 'started' })
  expect(JSON.parse(String(file.row('k').evidence))).toEqual([
    {
      says: 'not_landed',
      by: 'reconciler',
      why,
      at: noon,
      doubt: { errorCode: 'no reply', at: noon, fence: 1, looks: 0 },
    },
  ])
  const policy = node.hapax.policy({ name: 'payments.create' })
  const retry = node.hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, async () => 'charged')
  expect(await retry).toMatchObject({ value: 'charged', replayed: false })
})

test('evidence that the payment was declined is its answer: a retry gets the decline and tries nothing [S2-118]', async () => {
  const policy = node.hapax.policy({ name: 'cards.charge', onError: 'unknown' })
  const charge = (handler: () => Promise<Answer>) => ask(node.hapax, { key: 'card', policy }, handler)
  expect(await charge(() => Promise.reject(new Error('reset')))).toMatchObject({ error: { code: 'outcome_unknown' } })
  const declined = { kind: 'kept', ...answer(402, 'card declined') } as const
  expect(await settled({ kind: 'completed', answer: declined, answerVersion: 1 }, 'declined at 12:00', 'card')).toBe(
    true,
  )
  const replay = await charge(async () => expect.fail('it was charged again'))
  expect(replay).toMatchObject({ kind: 'answered', replayed: true, answer: { status: 402 } })
  expect(replay.kind === 'answered' && replay.answer.kind === 'kept' && Buffer.from(replay.answer.body)).toEqual(
    Buffer.from('card declined'),
  )
})

function settled(outcome: Settlement['outcome'], why: string, key = 'k'): Promise<boolean> {
  const evidence = { by: 'reconciler', why }
  return node.store.settle({ scope: scopeOf('acme'), key: keyOf(key) }, { generation: 1, outcome, evidence })
}
