import { expect, onTestFinished, test, vi } from 'vitest'
import { webApp } from '../../examples/sandbox/src/web/web-app.js'

test('a bug in one request is a 500 that tells no secrets, and the next request is served', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  const app = webApp()
  app.get('/bug', async () => {
    throw new TypeError('password is hunter2')
  })
  app.get('/', async () => ({ fine: true }))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.close())

  const broken = await fetch(`${url}/bug`)
  expect(broken.status).toBe(500)
  expect(broken.headers.get('content-type')).toBe('application/problem+json')
  expect(await broken.text()).not.toContain('hunter2')
  expect(logged).toHaveBeenCalledWith('internal_error:', expect.any(TypeError))
  expect(await (await fetch(`${url}/`)).json()).toEqual({ fine: true })
})

test('a request, its header, its body and a silent connection all have a bound', async () => {
  const { server, initialConfig } = webApp()
  expect(server.headersTimeout).toBe(10_000)
  expect(server.requestTimeout).toBe(30_000)
  expect(initialConfig).toMatchObject({ bodyLimit: 1_000_000, connectionTimeout: 120_000 })
})
