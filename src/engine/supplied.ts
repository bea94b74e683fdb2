import { hash } from 'node:crypto'
import type { Supplied } from './audit-store.js'
import { jsonText } from './plain.js'
import type { Answer } from './record.js'

/** What somebody gave with his word, by its hash: whoever has it can show that it was this, and the log does not hold it. */
export function suppliedBy({ result, answer }: Said): Supplied | undefined {
  if (answer !== undefined)
    return {
      what: 'answer',
      sha256: hash('sha256', answer.body, 'hex'),
      bytes: answer.body.byteLength,
      headers_sha256: hash('sha256', JSON.stringify(answer.headers), 'hex'),
    }
  if (result === undefined) return undefined
  const bytes = Buffer.from(jsonText(result, 'result of the evidence'))
  return { what: 'result', sha256: hash('sha256', bytes, 'hex'), bytes: bytes.byteLength }
}

interface Said {
  readonly says: string
  readonly result?: unknown
  readonly answer?: Answer
}
