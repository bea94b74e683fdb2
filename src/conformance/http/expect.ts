import assert from 'node:assert/strict'
import type { ErrorCode } from '../../kernel/errors.js'
import type { Got } from './client.js'

/** The reply is a problem of this status and code, and no cache may keep it. */
export function isProblem(got: Got, status: number, code: ErrorCode): void {
  assert.equal(got.status, status, `a problem of status ${status}: ${got.text}`)
  assert.match(got.headers.get('content-type') ?? '', /^application\/problem\+json/)
  assert.equal(got.headers.get('cache-control'), 'no-store')
  const problem = JSON.parse(got.text)
  assert.equal(problem.code, code)
  assert.equal(problem.status, status)
}

/** The second is the first once more, byte for byte, and says so. */
export function isReplayOf(second: Got, first: Got): void {
  assert.equal(first.replayed, false, 'the first is no replay')
  assert.equal(second.replayed, true, `the second is a replay: ${second.status} ${second.text}`)
  assert.equal(second.status, first.status)
  assert.equal(second.headers.get('content-type'), first.headers.get('content-type'))
  assert.ok(second.bytes.equals(first.bytes), 'the replay has the same bytes')
}

/** Says when to come back, in whole seconds that a client would wait. */
export function saysWhen(got: Got): void {
  const text = got.headers.get('retry-after') ?? ''
  assert.match(text, /^[0-9]+$/, 'Retry-After is a whole number of seconds')
  const seconds = Number(text)
  assert.ok(seconds >= 1 && seconds <= 60, `a client would wait ${seconds} s`)
}
