import { createHash } from 'node:crypto'
import untyped from 'canonicalize'
import { fingerprinter } from '../dist/engine/fingerprint/fingerprinter.js'
import type { Bench } from './harness/bench.js'
import { type Contestant, ratioOf, takeTurns, usual } from './harness/turns.js'
import { versionOf } from './harness/version.js'

/** Its types speak of a module in which it is the default export: it is the module itself. */
const canonicalize = untyped as unknown as (value: unknown) => string | undefined

const sizes = [
  { name: '200 B', bytes: 200 },
  { name: '2 KB', bytes: 2_000 },
  { name: '50 KB', bytes: 50_000 },
] as const
const ours = 'ours'
const usualWay = 'canonicalize + createHash'

export const fingerprint: Bench = {
  name: 'fingerprint',
  measures: 'what it takes to tell two requests apart: from the bytes of a JSON body to its fingerprint',
  how: `Beside it, what is usually written by hand: parse, \`canonicalize\`, hash. That one loses long numbers and takes the last of
two members of one name; ours does neither. Processor time of each.`,
  needs: [],
  turns: { rounds: 25, seconds: 0.1 },
  async run(asked) {
    const contestants = sizes.flatMap(({ name, bytes }): readonly Contestant<number>[] => {
      const body = bodyOf(bytes)
      return [
        { name: `${ours} ${name}`, turn: async () => usEach(ourWay(body), asked.seconds) },
        { name: `${usualWay} ${name}`, turn: async () => usEach(byHand(body), asked.seconds) },
      ]
    })
    const series = await takeTurns(contestants, asked)
    const faster = (name: string) => ratioOf(series, [`${usualWay} ${name}`, `${ours} ${name}`], (us) => us)
    return {
      ratios: Object.fromEntries(sizes.map(({ name }) => [name, faster(name)])),
      tables: [
        {
          title: 'One fingerprint',
          columns: ['body', 'way', 'µs each', 'times as fast'],
          rows: sizes.flatMap(({ name }) =>
            [ours, usualWay].map((way) => [
              name,
              way,
              usual(series, `${way} ${name}`, (us) => us),
              way === ours ? faster(name) : '',
            ]),
          ),
          chart: { name: 'fingerprint', group: 'body', series: 'way', value: 'µs each', others: [usualWay] },
        },
      ],
      versions: { canonicalize: versionOf('canonicalize') },
      remarks: [],
    }
  },
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

function byHand(body: Uint8Array): () => unknown {
  const decoder = new TextDecoder()
  return () => {
    const canonical = canonicalize(JSON.parse(decoder.decode(body))) ?? ''
    return createHash('sha256').update('POST\n/orders\n').update(canonical).digest('hex')
  }
}

/** Processor time, of which a busy machine takes none away. */
function usEach(way: () => unknown, seconds: number): number {
  const until = performance.now() + seconds * 1_000
  const before = process.cpuUsage()
  let done = 0
  for (; performance.now() < until; done += 10) for (let time = 0; time < 10; time++) way()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / done
}
