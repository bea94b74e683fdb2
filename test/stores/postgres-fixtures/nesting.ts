import { expect } from 'vitest'
import { reasonOf } from '../../../dist/stores/postgres/transactions/reason.js'

/** What a test of nested transactions needs of a tool. */
export interface Nesting<Tx> {
  /** A transaction of the caller. */
  begins(body: (tx: Tx) => Promise<void>): Promise<unknown>
  /** A request that joins it, and whose handler gives up when this function throws. */
  joined(tx: Tx, body: (tx: Tx) => Promise<void>): Promise<unknown>
  nest(tx: Tx, body: (inner: Tx) => Promise<void>): Promise<unknown>
  ride(tx: Tx, name: string): Promise<unknown>
  rides(): Promise<readonly string[]>
}

/** Where a handler goes on, seen from the caller whose transaction it had. */
export type Until = 'before he commits' | 'when he has committed'

/** A handler whose time is over inside of a nested transaction: the caller nests, writes and commits as if it had not been. */
export async function outlives<Tx>(until: Until, { begins, joined, nest, ride, rides }: Nesting<Tx>): Promise<void> {
  const late = gate()
  let told: Promise<unknown> | undefined
  const goOn = async () => {
    late.open()
    expect(reasonOf(await told)).toMatchObject({ code: 'transaction_ended' })
  }
  await begins(async (tx) => {
    await ride(tx, 'a of the caller')
    const inside = gate()
    const request = joined(tx, async (tx) => {
      const nested = nest(tx, async (inner) => {
        await ride(inner, 'early')
        inside.open()
        await late.opened
        await ride(inner, 'too late')
      })
      told = nested.catch((error: unknown) => error)
      await inside.opened
      throw new Error('its time is over')
    })
    await expect(request).rejects.toThrow('its time is over')
    await nest(tx, async (inner) => void (await ride(inner, 'b of the caller, nested')))
    if (until === 'before he commits') await goOn()
    await ride(tx, 'c of the caller')
  })
  expect(await rides()).toEqual(callers)
  await goOn()
  expect(await rides()).toEqual(callers)
}

const callers = ['a of the caller', 'b of the caller, nested', 'c of the caller']

/** In time it is what it is elsewhere: one that fails undoes its own rows, one that does not keeps them. */
export async function nestsInTime<Tx>({ begins, joined, nest, ride, rides }: Nesting<Tx>): Promise<void> {
  await begins(async (tx) => {
    await joined(tx, async (tx) => {
      const failing = nest(tx, async (inner) => {
        await ride(inner, 'in vain')
        throw new Error('gave up')
      })
      await expect(failing).rejects.toThrow('gave up')
      await nest(tx, async (inner) => {
        await ride(inner, 'nested')
        await nest(inner, async (inmost) => void (await ride(inmost, 'nested twice')))
      })
    })
  })
  expect(await rides()).toEqual(['nested', 'nested twice'])
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
