import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { FingerprintStrategy } from 'hapax'
import { Problem } from '../web/problem.js'
import { bytesOf } from '../web/sent-bytes.js'

/** RFC 9530. It stands for the body, once it was found to be that of the body. */
const header = 'content-digest'

export const byDigest: FingerprintStrategy = { kind: 'header', name: header }

/**
 * A hook: a body that is not the one its digest was made of is refused, before the key is looked at. One algorithm in one
 * spelling, so that the same body has the same header. That there is one is asked for by the guard.
 */
export async function checkDigest(request: FastifyRequest): Promise<void> {
  const given = request.headers[header]
  const right = `sha-256=:${createHash('sha256').update(bytesOf(request)).digest('base64')}:`
  if (given === undefined || given === right) return
  throw new Problem({
    status: 400,
    code: 'digest_mismatch',
    title: 'The body is not the one that its digest was made of.',
    detail: 'Send "Content-Digest: sha-256=:…:", with the SHA-256 of the body as it is sent, in base64.',
  })
}
