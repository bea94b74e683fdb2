import { Readable } from 'node:stream'
import type { AdminApi } from 'hapax/admin'
import { listening } from './http-serving.js'

export interface ServedAdmin {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** An API of `fetch` on a port of the loopback: on this one, or on one that is free. */
export async function servingAdmin(api: AdminApi, at?: number): Promise<ServedAdmin> {
  const { port, close } = await listening(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { method = 'GET', headers } = incoming
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(body.length > 0 && { body }),
    })
    const response = await api(request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body === null) outgoing.end()
    else Readable.fromWeb(response.body as never).pipe(outgoing)
  }, at)
  return { url: `http://127.0.0.1:${port}/admin`, port, close }
}
