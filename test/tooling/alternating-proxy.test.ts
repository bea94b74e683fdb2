import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { alternatingProxy } from '../acceptance/support/alternating-proxy.js'

/** Two nodes that say which of them was asked, and what with. */
async function proxied(): Promise<string> {
  const urls = await Promise.all([node('a'), node('b')])
  return alternatingProxy([urls[0] ?? '', urls[1] ?? ''])
}

async function node(name: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = await text(request)
    response.end(`${name} ${body.length}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ask = async (url: string, key?: string, body = '') => {
  const headers = key === undefined ? {} : { 'Idempotency-Key': key }
  return (await fetch(url, { method: 'POST', headers, body })).text()
}

test('a retry meets the other node, whatever came between', async () => {
  const url = await proxied()
  const met: string[] = []
  for (let time = 0; time < 4; time++) {
    met.push(await ask(url, 'k'))
    for (let others = 0; others < time; others++) await ask(url, `${time} ${others}`)
    await ask(url)
  }
  expect(met.map((answer) => answer[0])).toEqual(met[0] === 'a 0' ? ['a', 'b', 'a', 'b'] : ['b', 'a', 'b', 'a'])
  // With quotes it is the same key.
  expect((await ask(url, '"k"'))[0]).toBe(met[0]?.[0])
})

test('requests without a key take turns, and a long body arrives whole', async () => {
  const url = await proxied()
  const body = 'x'.repeat(500_000)
  const answers = [await ask(url, undefined, body), await ask(url, undefined, body)]
  expect(answers.sort()).toEqual(['a 500000', 'b 500000'])
})

test('what is no HTTP is handed on as it is', async () => {
  const { hostname, port } = new URL(await proxied())
  const socket = connect({ host: hostname, port: Number(port) })
  socket.write('nonsense\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /)
})
