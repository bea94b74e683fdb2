/** `undefined` as soon as there are more bytes than the limit. */
export async function bytesOf(
  stream: ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = stream?.getReader()
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    chunks.push(next.value)
    length += next.value.byteLength
    if (length > limit) {
      reader?.releaseLock()
      return undefined
    }
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}
