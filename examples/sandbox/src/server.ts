import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isHapaxError } from 'hapax'
import { Problem, type ProblemDetails, problemReply } from './problem.js'
import type { Reply } from './reply.js'

/** Answers every request with what `route` gives or throws. A bug in one of them is logged and stops nothing. */
export function replyServer(route: (request: IncomingMessage) => Promise<Reply>): Server {
  const server = createServer((request, response) => {
    route(request)
      .catch((error: unknown) => problemReply(detailsOf(error)))
      .then((reply) => send(response, reply, server))
      .catch((error: unknown) => {
        console.error('no reply could be sent:', error)
        response.destroy()
      })
  })
  return server.on('clientError', refuseGarbage)
}

function detailsOf(error: unknown): ProblemDetails {
  const details = error instanceof Problem ? error.details : unexpected(error)
  const cause = error instanceof Problem ? error.cause : error
  if (details.status >= 500) console.error(`${details.code}:`, isHapaxError(cause) ? cause.message : cause)
  return details
}

/** What reading a payment, or a bug, may throw. */
function unexpected(error: unknown): ProblemDetails {
  const detail = 'Send the same request again in a moment.'
  return isHapaxError(error)
    ? { status: 503, code: error.code, title: 'The database does not answer.', detail, retryAfter: 1 }
    : { status: 500, code: 'internal_error', title: 'The sandbox has a bug.', detail }
}

function send(response: ServerResponse, { status, headers, body }: Reply, { listening }: Server): void {
  // A server that is stopping takes no further request on this connection.
  if (!listening) response.setHeader('Connection', 'close')
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) }).end(body)
}

/** What is not HTTP never becomes a request: a control character in the key, for one. It is told why all the same. */
function refuseGarbage(_error: Error, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy()
  const title = 'The request is not HTTP/1.1.'
  const detail = 'Look for control characters in the header lines, and for more than 16 kB of them.'
  const { headers, body } = problemReply({ status: 400, code: 'request_malformed', title, detail })
  const lines = Object.entries({ ...headers, Connection: 'close', 'Content-Length': Buffer.byteLength(body) })
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
}
