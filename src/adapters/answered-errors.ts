import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Engine } from '../http/port.js'
import { problemReply } from '../http/problem.js'
import type { Profile } from '../http/profile.js'
import { ietf } from '../http/profiles/ietf.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { send } from './sent-reply.js'

/** Answers what a handler threw, in the application's own manner. */
export type AnswerError = (error: unknown, request: IncomingMessage, response: ServerResponse) => void | Promise<void>

interface Answering {
  readonly engine: Pick<Engine<never>, 'log'>
  readonly name: string
  readonly profile?: Profile | undefined
  readonly answerError?: AnswerError | undefined
}

/** The client left before its request was whole: there is nobody to answer, and nothing to tell. */
export const clientGone = new Error('The client went away before its request was complete.')

/**
 * Serves one request of `node:http` and never rejects. Nobody stands behind such a listener, so an error that left it would
 * end the process: what the application does not answer itself is a 500 that tells nothing, and a line in the log.
 */
export async function served(
  serve: () => Promise<void>,
  request: IncomingMessage,
  response: ServerResponse,
  answering: Answering,
): Promise<void> {
  try {
    await serve()
  } catch (error) {
    if (error === clientGone) return
    await answered(error, request, response, answering).catch((failure: unknown) => {
      apologise(failure, response, answering)
    })
  }
}

async function answered(
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  answering: Answering,
): Promise<void> {
  if (answering.answerError === undefined) apologise(error, response, answering)
  else await answering.answerError(error, request, response)
}

function apologise(error: unknown, response: ServerResponse, { engine, name, profile = ietf }: Answering): void {
  const code = isHapaxError(error) ? error.code : 'handler_failed'
  const words = error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no error'
  engine.log({ level: 'error', code, message: `"${name}" threw ${words}` })
  // Half a reply cannot be taken back. To break it off is the only way to say that it is not whole.
  if (response.headersSent) response.destroy()
  else send(response, problemReply(new HapaxError('handler_failed'), profile))
}
