import { type FingerprintOptions, fingerprinter } from '../dist/engine/fingerprint/fingerprinter.js'
import type { Bench } from './harness/bench.js'
import { rounded } from './harness/table.js'

const boundMsPerMb = 50
const megabyte = 1024 * 1024

interface Hostile {
  readonly name: string
  readonly body: Uint8Array
  readonly mediaType?: string
  readonly options?: FingerprintOptions
}

const bodies: readonly Hostile[] = [
  { name: 'ordinary payments (not hostile, for comparison)', body: filled((n) => payment(n), '[', ',', ']') },
  { name: 'depth 100,000', body: text('['.repeat(100_000) + ']'.repeat(100_000)) },
  { name: 'depth of the limit, over and over', body: filled(() => '['.repeat(999) + ']'.repeat(999), '[', ',', ']') },
  {
    name: 'objects nested to the limit',
    body: filled(() => `${'{"a":'.repeat(998)}1${'}'.repeat(998)}`, '[', ',', ']'),
  },
  {
    name: 'a long text nested to the limit',
    body: text(`${'["x",'.repeat(999)}"${'y'.repeat(megabyte)}"${']'.repeat(999)}`),
  },
  { name: 'opening brackets', body: text('['.repeat(megabyte)) },
  { name: 'commas', body: text(`[${','.repeat(megabyte)}`) },
  { name: 'empty arrays', body: filled(() => '[]', '[', ',', ']') },
  { name: 'blanks', body: text(`${' '.repeat(megabyte)}1`) },
  { name: 'digits', body: text('7'.repeat(megabyte)) },
  { name: 'digits behind a point', body: text(`0.${'0'.repeat(megabyte)}1`) },
  { name: 'digits of an exponent', body: text(`1e${'9'.repeat(megabyte)}`) },
  { name: 'zeros of an exponent', body: text(`1e${'0'.repeat(megabyte)}1`) },
  { name: 'numbers of 20 digits', body: filled((n) => String(10n ** 19n + BigInt(n)), '[', ',', ']') },
  { name: 'numbers with exponents', body: filled((n) => `${n}.50E-3`, '[', ',', ']') },
  { name: 'numbers of one digit and an exponent', body: filled(() => '1e5', '[', ',', ']') },
  { name: 'numbers of one digit and a far exponent', body: filled(() => '1e99', '[', ',', ']') },
  { name: 'numbers behind a point', body: filled(() => '0.1', '[', ',', ']') },
  { name: 'numbers of one digit', body: filled(() => '7', '[', ',', ']') },
  { name: 'lone surrogates', body: filled(() => '\\ud800', '"', '', '"') },
  { name: 'escapes in one string', body: filled(() => '\\u0041\\n', '"', '', '"') },
  { name: 'escapes in many strings', body: filled(() => '"\\n"', '[', ',', ']') },
  { name: 'control characters to escape', body: filled(() => '\\u0001', '"', '', '"') },
  { name: 'bad escape at the end', body: text(`"${'\\n'.repeat(megabyte / 2)}\\x"`) },
  {
    name: '100,000 members, shuffled',
    body: text(
      `{${shuffled(100_000)
        .map((n) => `"m${n}":${n}`)
        .join(',')}}`,
    ),
  },
  { name: '120,000 members, descending', body: text(descending(120_000, (n) => String(n))) },
  { name: '120,000 short names, shuffled', body: text(members(shuffled(120_000).map((n) => n.toString(36)))) },
  { name: 'objects of two members, descending', body: filled(() => '{"b":0,"a":0}', '[', ',', ']') },
  {
    name: '32 long names that differ at the end, descending',
    body: text(descending(32, (n) => 'a'.repeat(32_000) + letter(n))),
  },
  {
    name: '31 long names that differ at the end, descending',
    body: text(descending(31, (n) => 'a'.repeat(33_000) + letter(n))),
  },
  {
    name: '40 long names of escapes, descending',
    body: text(descending(40, (n) => '\\n'.repeat(12_500) + letter(n))),
  },
  {
    name: 'objects of 32 names that differ at the end, descending',
    body: filled(() => descending(32, (n) => 'a'.repeat(30) + letter(n)), '[', ',', ']'),
  },
  {
    name: 'names each longer than the one before, descending',
    body: text(descending(1_400, (n) => 'a'.repeat(n))),
  },
  {
    name: 'members with a long common beginning',
    body: text(
      `{${shuffled(8_000)
        .map((n) => `"${'p'.repeat(120)}${n}":0`)
        .join(',')}}`,
    ),
  },
  {
    name: 'members whose names are escaped',
    body: text(
      `{${shuffled(60_000)
        .map((n) => `"\\u006d${n}":0`)
        .join(',')}}`,
    ),
  },
  { name: 'duplicate members', body: filled(() => '"a":1', '{', ',', '}') },
  { name: '__proto__ members', body: filled(() => '{"__proto__":{"a":1}}', '[', ',', ']') },
  { name: 'text that is not UTF-8', body: new Uint8Array(megabyte).fill(0xc3) },
  { name: 'Chinese text', body: text(`"${'\u4e2d'.repeat(megabyte / 3)}"`) },
  { name: 'emoji in escapes', body: filled(() => '\\ud83d\\ude02', '"', '', '"') },
  { name: 'form pairs under a selection', body: filled(() => 'a=%41', '', '&', ''), ...form({ select: ['a'] }) },
  { name: 'form of ampersands', body: text('&'.repeat(megabyte)), ...form({ exclude: ['a'] }) },
  { name: 'form of percent signs', body: text('%'.repeat(megabyte)), ...form({ exclude: ['a'] }) },
]

export const hostile: Bench = {
  name: 'hostile',
  measures: 'what bodies that were made to be slow cost, from bytes to fingerprint',
  how: `Processor time per megabyte of each body, the best of all rounds, since everything else is the neighbours' time. More than
${boundMsPerMb} ms for a megabyte fails the bench.`,
  needs: [],
  turns: { rounds: 12, seconds: 1 },
  async run({ rounds }) {
    const rows = bodies.map(({ name, body, mediaType = 'application/json', options = {} }) => {
      let outcome = 'canonical'
      const prints = fingerprinter({ ...options, onOpaque: (reason) => (outcome = reason) })
      const source = { subject: ['POST', '/payments'], mediaType, body }
      const times = Array.from({ length: rounds }, () => timed(() => prints.of(source)))
      const perMb = (ms: number | undefined) => rounded(((ms ?? 0) * megabyte) / body.byteLength)
      return [name, outcome, perMb(times[0]), perMb(Math.min(...times))] as const
    })
    const slow = rows.filter(([, , , best]) => best > boundMsPerMb)
    const dearest = Math.max(...rows.map(([, , , best]) => best))
    return {
      ratios: { 'dearest ms per MB': dearest },
      tables: [{ title: 'A megabyte of each', columns: ['body', 'told apart by', 'first ms', 'best ms'], rows }],
      versions: {},
      remarks: [],
      ...(slow.length > 0 && { failure: `${slow.length} bodies take more than ${boundMsPerMb} ms per megabyte.` }),
    }
  },
}

function timed(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function text(content: string): Uint8Array {
  return Buffer.from(content)
}

/** A megabyte of pieces. */
function filled(piece: (index: number) => string, open: string, between: string, close: string): Uint8Array {
  const pieces: string[] = []
  for (let length = 0, index = 0; length < megabyte; index += 1) {
    const next = piece(index)
    pieces.push(next)
    length += next.length + between.length
  }
  return text(open + pieces.join(between) + close)
}

function payment(n: number): string {
  return JSON.stringify({
    customerId: `cus_${n}`,
    amountCents: 1_000 + n,
    currency: 'EUR',
    metadata: { order: `o-${n}`, note: 'two items, gift wrapped' },
  })
}

/** The numbers below `count` in an order that no sort can make use of. */
function shuffled(count: number): number[] {
  return Array.from({ length: count }, (_, index) => (index * 7_919) % count)
}

function descending(count: number, name: (index: number) => string): string {
  return members(Array.from({ length: count }, (_, index) => name(count - 1 - index)))
}

function members(names: readonly string[]): string {
  return `{${names.map((name) => `"${name}":0`).join(',')}}`
}

function letter(n: number): string {
  return String.fromCharCode(0x30 + n)
}

function form(fields: { select: string[] } | { exclude: string[] }): Pick<Hostile, 'mediaType' | 'options'> {
  return { mediaType: 'application/x-www-form-urlencoded', options: { strategy: { kind: 'fields', ...fields } } }
}
