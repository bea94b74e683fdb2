import * as clientBounds from '../kernel/client-limits.js'

/**
 * Waits for the whole body of an answer, and leaves it to be read: a connection that breaks in the middle of an answer is
 * found here, where the request can be sent again. What is longer than the bound, or a stream of events, comes as it comes.
 * Gives the text where it is JSON.
 */
export async function readAhead(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? ''
  const reader = type.startsWith('text/event-stream') ? undefined : response.clone().body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    length += value.byteLength
    if (length > clientBounds.answerBytes) {
      void reader.cancel().catch(() => {})
      return ''
    }
    if (type.includes('json')) text += decoder.decode(value, { stream: true })
  }
}
