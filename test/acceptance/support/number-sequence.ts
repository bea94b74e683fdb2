import { createHash } from 'node:crypto'

/**
 * The number sequence by which implementations of RFC 8785 are compared: hand-picked values, then the two thousand
 * doubles from the smallest normal one on, then a chain of SHA-256 read as little-endian doubles. Whoever spells its
 * first lines right, as `bits,spelling`, gets the hashes that are published for them.
 */
export function* numberSequence(): Generator<number> {
  yield* [0, -0, Number.MIN_VALUE, -Number.MIN_VALUE]
  for (const sign of [-1, 1]) for (const third of thirds) yield sign * third
  yield* picked
  for (let step = 0n; step < 2_000n; step++) yield doubleOf(smallestNormal + step)
  let block = Buffer.alloc(32)
  for (;;) {
    block = createHash('sha256').update(block).digest()
    for (const at of [0, 8, 16, 24]) {
      const value = block.readDoubleLE(at)
      if (Number.isFinite(value) && value !== 0) yield value
    }
  }
}

/** The bits of a double as the published lines write them: hexadecimal, without leading zeros. */
export function bitsOf(value: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes.readBigUInt64BE().toString(16)
}

const smallestNormal = 0x0010000000000000n

function doubleOf(bits: bigint): number {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(bits)
  return bytes.readDoubleBE()
}

/** A third of each power of ten from 10^22 down to 10^-27, rounded as the sequence has it. */
const thirds = [
  3.3333333333333335e21, 333333333333333300000, 33333333333333336000, 3333333333333334000, 333333333333333400,
  33333333333333340, 3333333333333334, 333333333333333.4, 33333333333333.344, 3333333333333.334, 333333333333.33344,
  33333333333.33334, 3333333333.333334, 333333333.3333334, 33333333.333333336, 3333333.3333333335, 333333.3333333333,
  33333.333333333336, 3333.333333333333, 333.3333333333333, 33.333333333333336, 3.3333333333333335, 0.3333333333333333,
  0.03333333333333333, 0.0033333333333333335, 0.0003333333333333333, 0.000033333333333333335, 0.0000033333333333333333,
  3.3333333333333335e-7, 3.3333333333333334e-8, 3.3333333333333334e-9, 3.333333333333333e-10, 3.3333333333333335e-11,
  3.333333333333333e-12, 3.3333333333333334e-13, 3.3333333333333334e-14, 3.3333333333333332e-15, 3.333333333333333e-16,
  3.3333333333333335e-17, 3.3333333333333333e-18, 3.3333333333333334e-19, 3.333333333333333e-20, 3.3333333333333333e-21,
  3.333333333333333e-22, 3.3333333333333333e-23, 3.3333333333333334e-24, 3.3333333333333335e-25, 3.333333333333333e-26,
  3.333333333333333e-27, 3.3333333333333338e-28,
]

/** Where spelling goes wrong: around the exponents, the edges of precision and the ends of the range. */
const picked = [
  10,
  5,
  0.5,
  0.05,
  0.005,
  0.0005,
  0.00005,
  0.000005,
  5e-7,
  5e-8,
  5e-9,
  ...Array.from({ length: 14 }, (_, zeros) => Number(`5.${'0'.repeat(zeros + 1)}6e-6`)),
  5e-6,
  1,
  -1,
  -0.9999999999999993,
  -0.9999999999999994,
  0.9999999999999993,
  0.9999999999999994,
  0.9999999999999996,
  0.9999999999999998,
  -0.9999999999999999,
  -0.9999999999999999,
  0.9999999999999999,
  0.9999999999999999,
  0.29999999999999993,
  0.3,
  0.30000000000000004,
  2.2250738585072014e-308,
  2.2250738585072e-308,
  2.225073858507201e-308,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  2 ** 53,
  -(2 ** 53),
  2 ** 68,
  9.999999999999997e22,
  1e23,
  1.0000000000000001e23,
  999999999999999700000,
  999999999999999900000,
  1e21,
  9.999999999999997e-7,
  0.000001,
  333333333.3333332,
  333333333.33333325,
  333333333.3333333,
  333333333.3333334,
  333333333.33333343,
  -0.0000033333333333333333,
  1424953923781206.2,
]
