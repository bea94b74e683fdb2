import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { jsonReply } from '../../examples/sandbox/src/reply.js'
import { replyServer } from '../../examples/sandbox/src/server.js'

test('a bug in one request is a 500 that tells no secrets, and the next request is served', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  const server = replyServer(async ({ url }) => {
    if (url === '/bug') throw new TypeError('password is hunter2')
    return jsonReply(200, { fine: true })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo

  const broken = await fetch(`http://127.0.0.1:${port}/bug`)
  expect(broken.status).toBe(500)
  expect(broken.headers.get('content-type')).toBe('application/problem+json')
  expect(await broken.text()).not.toContain('hunter2')
  expect(logged).toHaveBeenCalledWith('internal_error:', expect.any(TypeError))
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toEqual({ fine: true })
})
