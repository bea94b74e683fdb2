import { expect, test } from 'vitest'
import { type Awaitable, failed } from '../../src/kernel/awaitable.js'

function waited() {
  let tell: (value: Awaitable<string>) => void = () => undefined
  const promise = new Promise<string>((resolve) => {
    tell = resolve
  })
  return { promise, tell }
}

test('a promise that is settled with a failure rejects with it', async () => {
  const { promise, tell } = waited()
  tell(failed(new Error('broken')))
  await expect(promise).rejects.toThrow('broken')
})

// Whoever hears of a rejection that nobody handles ends the process.
test('a failure after the ending is heard of by nobody', async () => {
  const unhandled: unknown[] = []
  const listen = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', listen)
  try {
    const { promise, tell } = waited()
    tell('ended')
    tell(failed(new Error('late')))
    expect(await promise).toBe('ended')
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', listen)
  }
})
