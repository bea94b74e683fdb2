import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isHapaxError } from 'hapax'
import { Problem, type ProblemDetails, problemReply } from './problem.js'
import type { Reply } from './reply.js'

/** Answers every request with what `route` gives or throws. A bug in one of them is told and stops nothing. */
export function replyServer(route: (request: IncomingMessage) => Promise<Reply>): Server {
  const server = createServer(async (request, response) => {
    const reply = await route(request).catch((error: unknown) => problemReply(detailsOf(error)))
    // A server that is stopping takes no further request on this connection.
    if (!server.listening) response.setHeader('connection', 'close')
    send(response, reply)
  })
  return server.on('clientError', refuseGarbage)
}

function detailsOf(error: unknown): ProblemDetails {
  const details = error instanceof Problem ? error.details : unexpected(error)
  if (details.status >= 500) console.error(details.code, error)
  return details
}

function unexpected(error: unknown): ProblemDetails {
  if (isHapaxError(error)) {
    const detail = 'Try again in a moment.'
    return { status: 503, code: error.code, title: 'The database does not answer.', detail, retryAfter: 1 }
  }
  const detail = 'A retry with the same key is safe.'
  return { status: 500, code: 'internal_error', title: 'The sandbox has a bug.', detail }
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}

/** What is no HTTP never becomes a request: a control character in a header, for one. It is still told why. */
function refuseGarbage(_error: Error, socket: Duplex): void {
  const title = 'The request is not HTTP/1.1.'
  const detail = 'Check the header lines for control characters and line breaks.'
  const { body } = problemReply({ status: 400, code: 'request_malformed', title, detail })
  if (!socket.writable) return void socket.destroy()
  socket.end(
    'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/problem+json\r\n' +
      `cache-control: no-store\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
