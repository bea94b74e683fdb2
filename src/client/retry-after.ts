/**
 * How long a server wants to be left alone, in milliseconds: seconds or a date. A date is counted from the server's own,
 * where it says what time it has, since clocks of clients are wrong.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000
  const until = Date.parse(value)
  if (Number.isNaN(until)) return undefined
  return Math.max(0, until - (Date.parse(headers.get('date') ?? '') || now))
}
