import { createHash } from 'node:crypto'

/**
 * The recipes of what Hapax stores, written out a second time. Records outlive releases: whoever changes a recipe
 * without a new version breaks the retries of yesterday, and the tests that follow these.
 */

/** Each part stands behind its length, in six bytes. */
export function framedSha256(parts: readonly string[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = Buffer.from(part)
    const length = Buffer.alloc(6)
    length.writeUIntBE(bytes.byteLength, 0, 6)
    hash.update(length).update(bytes)
  }
  return hash.digest()
}

/** The fingerprint of a plain function's input, given as canonical JSON. */
export function plainFingerprint(operation: string, canonical: string, recipe = '1.sha256.whole'): string {
  const subject = JSON.stringify([operation])
  const mediaType = JSON.stringify(['application/json', ''])
  const parts = ['hapax fingerprint', recipe, subject, mediaType, 'json', canonical]
  return `${recipe}:${framedSha256(parts).toString('hex')}`
}
