import type { FastifyRequest } from 'fastify'

const sent = new WeakMap<FastifyRequest, Uint8Array>()

/** Whoever reads a body keeps its bytes, for whoever has to compare them with what a header says of them. */
export function keepBytes(request: FastifyRequest, bytes: Uint8Array): void {
  sent.set(request, bytes)
}

/** The body as it came. */
export function bytesOf(request: FastifyRequest): Uint8Array {
  return sent.get(request) ?? new Uint8Array()
}
