/**
 * What it takes to tell two requests apart: from the bytes of a JSON body to its fingerprint. Beside it, what is usually
 * written by hand: parse, `canonicalize`, hash. That one loses long numbers and takes the last of two members of one name; ours
 * does neither. Both take turns in one run, and each ratio is one of neighbours.
 */
import { createHash } from 'node:crypto'
import untyped from 'canonicalize'
import { fingerprinter } from '../dist/engine/fingerprint/fingerprinter.js'
import { median } from './median.js'

/** Its types speak of a module in which it is the default export: it is the module itself. */
const canonicalize = untyped as unknown as (value: unknown) => string | undefined

const rounds = 25
const sizes = [200, 2_000, 50_000]
/** Of each size so many bytes a round. */
const bytesPerRound = 4_000_000
const aim = { size: 2_000, ratio: 1.5 }

interface Report {
  readonly ratios: Readonly<Record<string, number>>
  readonly usEach: Readonly<Record<string, number>>
}

export async function fingerprint(): Promise<Report> {
  const ratios: Record<string, number> = {}
  const usEach: Record<string, number> = {}
  console.log(`node ${process.version}, median of ${rounds} rounds, taking turns`)
  for (const size of sizes) {
    const body = bodyOf(size)
    const count = Math.ceil(bytesPerRound / body.byteLength)
    const ours = ourWay(body)
    const usual = usualWay(body)
    const taken = { ours: [] as number[], usual: [] as number[] }
    // The first rounds warm both up.
    for (let round = -3; round < rounds; round++) {
      const [first, second] = round % 2 === 0 ? [ours, usual] : [usual, ours]
      const times = [usFor(first, count), usFor(second, count)]
      if (round < 0) continue
      taken.ours.push(times[first === ours ? 0 : 1] ?? Number.NaN)
      taken.usual.push(times[first === usual ? 0 : 1] ?? Number.NaN)
    }
    const ratio = median(taken.ours.map((us, round) => (taken.usual[round] ?? Number.NaN) / us))
    const label = `${body.byteLength} B`
    const judged = size === aim.size && ratio < aim.ratio ? `, below the aim of ${aim.ratio}` : ''
    const figures = `ours ${median(taken.ours).toFixed(1)} µs   canonicalize + createHash ${median(taken.usual).toFixed(1)} µs`
    console.log(`${label.padEnd(8)} ${figures}   ${ratio.toFixed(2)} times as fast${judged}`)
    ratios[label] = Number(ratio.toFixed(2))
    usEach[label] = Number(median(taken.ours).toFixed(2))
  }
  return { ratios, usEach }
}

/** Orders of a shop, members in no order, until there are so many bytes. */
function bodyOf(size: number): Uint8Array {
  const lines: object[] = []
  const text = () => JSON.stringify({ reference: 'o-1', currency: 'EUR', lines, customer: { name: 'Ada', id: 42 } })
  while (text().length < size)
    lines.push({ sku: `sku-${lines.length}`, quantity: 1 + (lines.length % 5), price: '19.90', gift: false })
  return Buffer.from(text())
}

function ourWay(body: Uint8Array): () => unknown {
  const { of } = fingerprinter({})
  return () => of({ subject: ['POST', '/orders'], mediaType: 'application/json', body })
}

function usualWay(body: Uint8Array): () => unknown {
  const decoder = new TextDecoder()
  return () => {
    const canonical = canonicalize(JSON.parse(decoder.decode(body))) ?? ''
    return createHash('sha256').update('POST\n/orders\n').update(canonical).digest('hex')
  }
}

function usFor(way: () => unknown, count: number): number {
  const startedAt = performance.now()
  for (let done = 0; done < count; done++) way()
  return ((performance.now() - startedAt) * 1_000) / count
}
