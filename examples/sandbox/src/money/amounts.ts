/**
 * An amount is a decimal string outside and a whole number of minor units inside; no float ever holds one. The currencies
 * that this sandbox knows have two decimals each.
 */

/** What anybody here may ask for, in minor units: far from where a sum of them would overflow, or a float be off. */
export const mostAmount = 99_999_999_999

/** Nine digits before the point, and two behind it: no more than that. */
const syntax = /^(0|[1-9]\d{0,8})(?:\.(\d{1,2}))?$/

/** How to write an amount, for whoever did not. */
export const amountSyntax = 'a decimal string from "0.01" to "999999999.99", with at most two decimals'

/** The minor units of an amount above zero; `undefined` for anything else. */
export function minorUnitsOf(amount: unknown): bigint | undefined {
  const [, whole, decimals = ''] = (typeof amount === 'string' ? syntax.exec(amount) : undefined) ?? []
  if (whole === undefined) return undefined
  const units = BigInt(whole + decimals.padEnd(2, '0'))
  return units > 0n ? units : undefined
}

/** `-150n` is `-1.50`. */
export function amountOf(minorUnits: bigint): string {
  const digits = String(minorUnits < 0n ? -minorUnits : minorUnits).padStart(3, '0')
  return `${minorUnits < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
