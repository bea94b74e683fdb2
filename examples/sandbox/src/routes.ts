import type { IncomingMessage } from 'node:http'
import { createPayment } from './create-payment.js'
import { Problem } from './problem.js'
import type { Reply } from './reply.js'
import type { Sandbox } from './sandbox.js'
import { showPayment } from './show-payment.js'

/** Which part of the sandbox answers a request. */
export async function route(sandbox: Sandbox, request: IncomingMessage): Promise<Reply> {
  const [path = ''] = (request.url ?? '').split('?', 1)
  if (path === '/payments') {
    refuseOtherMethods(request, 'POST')
    return createPayment(sandbox, request)
  }
  const id = /^\/payments\/([^/]+)$/.exec(path)?.[1]
  if (id !== undefined) {
    refuseOtherMethods(request, 'GET')
    return showPayment(sandbox, request, id)
  }
  throw new Problem({
    status: 404,
    code: 'not_found',
    title: 'There is nothing here.',
    detail: 'The sandbox knows POST /payments and GET /payments/{id}.',
  })
}

function refuseOtherMethods({ method }: IncomingMessage, allowed: string): void {
  if (method === allowed) return
  throw new Problem({
    status: 405,
    code: 'method_not_allowed',
    title: 'This path does not know the method.',
    detail: `Use ${allowed}.`,
    headers: { Allow: allowed },
  })
}
