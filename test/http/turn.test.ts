import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { inTurn } from '../../src/http/turn.js'
import { limits } from '../../src/kernel/limits.js'

describe('steps that are asked for in one turn', () => {
  test('run one right behind the other, before anybody hears of the first', async () => {
    const seen: string[] = []
    const one = (name: string) => inTurn(() => seen.push(`runs ${name}`)).then(() => seen.push(`heard ${name}`))
    const both = Promise.all([one('a'), one('b')])
    expect(seen).toEqual([])
    await both
    expect(seen).toEqual(['runs a', 'runs b', 'heard a', 'heard b'])
  })

  test('do not wait for those that take their time', async () => {
    let finish = () => {}
    const slow = inTurn(() => new Promise<void>((resolve) => (finish = resolve)))
    expect(await inTurn(() => 'quick')).toBe('quick')
    finish()
    await slow
  })

  test('fail alone', async () => {
    const [before, failing, rejecting, behind] = await Promise.allSettled([
      inTurn(() => 1),
      inTurn(() => {
        throw new Error('broken')
      }),
      inTurn(() => Promise.reject(new Error('rejected'))),
      inTurn(() => 2),
    ])
    expect([before, behind]).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'fulfilled', value: 2 },
    ])
    expect(failing).toMatchObject({ reason: { message: 'broken' } })
    expect(rejecting).toMatchObject({ reason: { message: 'rejected' } })
  })

  test('each see the context of their own caller', async () => {
    const tenant = new AsyncLocalStorage<string>()
    const seen = await Promise.all(
      ['acme', 'globex'].map((name) => tenant.run(name, () => inTurn(() => tenant.getStore()))),
    )
    expect(seen).toEqual(['acme', 'globex'])
  })

  test('are so many at most, and the others follow', async () => {
    const seen: string[] = []
    const steps = Array.from({ length: limits.together + 1 }, (_, number) =>
      inTurn(() => seen.push(`runs ${number}`)).then(() => number === 0 && seen.push('the first hears')),
    )
    await Promise.all(steps)
    expect(seen.indexOf('the first hears')).toBe(limits.together)
    expect(seen.at(-1)).toBe(`runs ${limits.together}`)
  })

  test('do not wait for many that compute for long', async () => {
    const seen: string[] = []
    const compute = () => {
      const until = performance.now() + 8
      while (performance.now() < until);
      seen.push('runs')
    }
    await Promise.all(Array.from({ length: 3 }, () => inTurn(compute).then(() => seen.push('heard'))))
    expect(seen).toEqual(['runs', 'heard', 'runs', 'heard', 'runs', 'heard'])
  })

  test('run under timers that a test has faked, and after them', async () => {
    vi.useFakeTimers()
    const during = inTurn(() => 'during')
    vi.useRealTimers()
    expect(await during).toBe('during')
    expect(await inTurn(() => 'after')).toBe('after')
  })
})
