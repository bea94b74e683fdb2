import type { FastifyRequest } from 'fastify'
import { Problem } from './problem.js'

/** Lets only those through who ask from this machine: what is for its operator is not for the network. */
export async function refuseOthers({ socket }: FastifyRequest): Promise<void> {
  if (isLoopback(socket.remoteAddress ?? '')) return
  throw new Problem({
    status: 403,
    code: 'loopback_only',
    title: 'This is told to the machine that runs the sandbox only.',
    detail: 'Ask from there, by 127.0.0.1.',
  })
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}
