import assert from 'node:assert/strict'
import { isProblem, isReplayOf } from './expect.js'
import type { Said } from './harness.js'
import { type HttpShow, type HttpStage, json, type RouteSketch } from './stage.js'

/** A retry gets what the first caller got: the same status and the same bytes, whatever they are. */
export const answers: Readonly<Record<string, HttpShow>> = {
  'the first request runs, and the second gets its answer without running': async ({ serve }) => {
    const { ask, runs } = await serve({})
    const first = await ask()
    assert.equal(first.status, 201)
    assert.equal(first.text, '{"id":"pay_1", "amount":100}')
    isReplayOf(await ask(), first)
    isReplayOf(await ask(), first)
    assert.equal(runs(), 1)
  },

  'another key runs again': async ({ serve }) => {
    const { ask, runs } = await serve({})
    await ask({ key: 'key-1' })
    assert.equal((await ask({ key: 'key-2' })).replayed, false)
    assert.equal(runs(), 2)
  },

  'an answer without content replays as one': async (stage) => {
    await replays(stage, { status: 204 })
  },

  'an answer with an empty body replays as one': async (stage) => {
    await replays(stage, { status: 200, body: Buffer.alloc(0) })
  },

  'a redirect replays with its place': async (stage) => {
    const { second } = await replays(stage, { status: 303, headers: [['Location', '/payments/pay_1']] })
    assert.equal(second.headers.get('location'), '/payments/pay_1')
  },

  'bytes that are no text replay as they were': async (stage) => {
    const body = Buffer.from(Array.from({ length: 1_024 }, (_, index) => index % 256))
    const headers = [['Content-Type', 'application/octet-stream']] as const
    const { first } = await replays(stage, { status: 200, headers, body })
    assert.ok(first.bytes.equals(body), 'the first caller gets the bytes as the handler said them')
  },

  'an answer that comes in pieces replays as a whole': async (stage) => {
    const { first } = await replays(stage, { status: 200, body: pieces('one ', 'two ', 'three') })
    assert.equal(first.text, 'one two three')
  },

  'an answer that breaks off is a success to nobody, and the retry runs again': async ({ serve }) => {
    async function* broken() {
      yield Buffer.from('half of ')
      throw new Error('the source of the stream is gone')
    }
    const { ask, runs } = await serve({
      handler: ({ work }) => ({ status: 200, body: work.attempt === 1 ? broken() : pieces('all of it') }),
    })
    const first = await ask()
    assert.equal(first.status, 500, `half an answer came as ${first.status}`)
    assert.doesNotMatch(first.text, /half of/)
    const second = await ask()
    assert.deepEqual([second.status, second.text, second.replayed], [200, 'all of it', false])
    assert.equal(runs(), 2)
  },

  'a stream of events is refused, since nothing says that it ends': async ({ serve }) => {
    const headers = [['Content-Type', 'text/event-stream']] as const
    const { ask } = await serve({ handler: () => ({ status: 200, headers, body: pieces('data: 1\n\n') }) })
    const { status, text } = await ask()
    assert.equal(status, 500)
    assert.doesNotMatch(text, /data:/)
  },

  'an answer that is given in work.commit reaches the first caller whole, and replays': async (stage) => {
    const { first } = await replays(stage, { ...json(201, '{"id":"pay_1"}'), by: 'commit' })
    assert.equal(first.text, '{"id":"pay_1"}')
  },

  'a refusal by the application is an answer and replays': async (stage) => {
    await replays(stage, json(402, '{"declined":true}'))
  },

  'an answer over the limit reaches the first caller whole, and the retry is told': async ({ serve }) => {
    const body = Buffer.alloc(5_000, 'x')
    const { ask, runs } = await serve({
      options: { maxAnswerBytes: 4_999 },
      handler: () => ({ status: 201, headers: [['Location', '/payments/pay_1']], body }),
    })
    const first = await ask()
    assert.equal(first.status, 201)
    assert.ok(first.bytes.equals(body), 'the first caller gets all of it')
    const second = await ask()
    isProblem(second, 409, 'answer_withheld')
    assert.match(second.text, /201/, 'the retry is told how the first was answered')
    assert.equal(second.headers.get('location'), '/payments/pay_1')
    assert.equal(runs(), 1)
  },

  'an answer of exactly the limit is kept': async (stage) => {
    await replays(stage, { status: 200, body: Buffer.alloc(5_000, 'x') }, { maxAnswerBytes: 5_000 })
  },
}

async function replays({ serve }: HttpStage, said: Said, options: RouteSketch['options'] = {}) {
  const { ask, runs } = await serve({ options, handler: () => said })
  const first = await ask()
  assert.equal(first.status, said.status)
  const second = await ask()
  isReplayOf(second, first)
  assert.equal(runs(), 1)
  return { first, second }
}

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text)
}
