import type { ServerResponse } from 'node:http'
import type { Reply } from '../http/port.js'
import { askedLater } from './asked-later.js'
import { tell } from './given-callback.js'
import { heldEvents } from './held-events.js'
import { heldHead } from './held-head.js'
import { accessor, method, type OwnProperties, swapped } from './swapped-properties.js'

/** A response of node whose bytes do not leave: what is written into it is kept. */
export interface HeldResponse {
  /** Everything that was written, once it has been ended. Rejects when it was destroyed before. */
  readonly ended: Promise<Reply>
  /** Whether anything was written, is being piped, or will be: a view or a file that Express was asked for. */
  isBegun(): boolean
  /** Whether the client has gone away unanswered, or somebody has cut it off. */
  isGone(): boolean
  onGone(listener: () => void): void
  /** Gives the response back as it was before: nothing that was written is in it. */
  letGo(): void
  /** Sends something else, while what is written goes on being kept. */
  sendBeside(sending: () => void): void
}

/** Stands in front of whoever has wrapped the response before, such as a compression: these see only what is sent. */
export function holdBack(response: ServerResponse): HeldResponse {
  const head = heldHead(response)
  const events = heldEvents(response)
  const chunks: Buffer[] = []
  let isEnded = false
  let isAsked = false
  let isAnswered = false
  let end: (reply: Reply) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const ended = new Promise<Reply>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  ended.catch(() => {})
  const keep = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk, encodingOf(encoding)))
    // A writer may use its buffer again as soon as it is told that the bytes are written.
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  const write = method((...given) => {
    if (isEnded) return false
    head.begin()
    keep(given[0], given[1])
    tell(given)
    return true
  })
  const endOnce = method((...given) => {
    tell(given)
    if (isEnded) return response
    const begun = head.begin()
    keep(given[0], given[1])
    isEnded = true
    queueMicrotask(events.finish)
    end({ ...begun, body: Buffer.concat(chunks) })
    return response
  })
  // A pipeline destroys its end when its source breaks off. The client shall still be told.
  const destroy = method((error) => {
    fail(error ?? new Error('The response was destroyed before it was ended.'))
    return response
  })
  const onAsked = () => {
    isAsked = true
  }
  let other: OwnProperties = {
    ...head.properties,
    ...events.properties,
    ...askedLater(response, onAsked),
    ...Object.fromEntries(informational.map((name) => [name, method((...given) => tell(given))])),
    writableEnded: accessor(() => isEnded),
    writableFinished: accessor(() => isEnded),
    write,
    end: endOnce,
    destroy,
  }
  let isHeld = false
  const swap = () => {
    other = swapped(response, other)
    isHeld = !isHeld
  }
  swap()
  return {
    ended,
    isBegun: () => head.isBegun() || events.isPiped() || isAsked,
    isGone: () => !isAnswered && events.isGone(),
    onGone: events.onGone,
    letGo() {
      if (!isHeld) return
      swap()
      events.reveal()
      events.tellGone()
    },
    sendBeside(sending) {
      isAnswered = true
      swap()
      events.reveal()
      sending()
      // Whatever wraps the response has made its head by now, or makes it before it has finished.
      if (response.headersSent) swap()
      else response.once('finish', swap)
      void ended.then(events.tellGone, events.tellGone)
    },
  }
}

/** Answers before the answer. They would leave before anything is durable, and nobody has to send them. */
const informational = ['writeContinue', 'writeProcessing', 'writeEarlyHints']

function encodingOf(given: unknown): BufferEncoding {
  return typeof given === 'string' && Buffer.isEncoding(given) ? given : 'utf8'
}
