import type { Duplex } from 'node:stream'
import { type ProblemDetails, written } from './problem.js'

/** What is not HTTP never becomes a request: a control character in the key, for one. It is told why all the same. */
export function refuseGarbage({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy()
  const [reason, problem] = refusals.get(code ?? '') ?? garbage
  const { headers, body } = written(problem)
  const lines = Object.entries({ ...headers, Connection: 'close', 'Content-Length': Buffer.byteLength(body) })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${problem.status} ${reason}\r\n${head}\r\n${body}`)
}

type Refusal = readonly [reason: string, ProblemDetails]

const garbage: Refusal = [
  'Bad Request',
  {
    status: 400,
    code: 'request_malformed',
    title: 'The request is not HTTP/1.1.',
    detail: 'Look for control characters in the header lines.',
  },
]

const refusals = new Map<string, Refusal>([
  [
    'HPE_HEADER_OVERFLOW',
    [
      'Request Header Fields Too Large',
      {
        status: 431,
        code: 'headers_too_large',
        title: 'The header is too large.',
        detail: 'Send at most 16 kB of it.',
      },
    ],
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    [
      'Request Timeout',
      { status: 408, code: 'request_timeout', title: 'The request took too long to arrive.', detail: 'Send it again.' },
    ],
  ],
])
