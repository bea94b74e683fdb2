/** What a key looks like that holds personal data. A key ends up in places that are not made for it. */
export type PersonalShape = 'email' | 'phone' | 'card' | 'social_security_number'

/** What personal data this text looks like; `undefined` for what a key should be, something made at random. */
export function personalShape(text: string): PersonalShape | undefined {
  if (uuid.test(text)) return undefined
  if (/[^\s@]@[^\s@]+\.[^\s@]{2,}/.test(text)) return 'email'
  if (/^\d{3}-\d{2}-\d{4}$/.test(text)) return 'social_security_number'
  const digits = text.replace(/[ ().-]/g, '')
  if (/^\d{13,19}$/.test(digits) && passesLuhn(digits)) return 'card'
  // A plain number is more often an order than a phone; one with a plus or with brackets is not.
  if (/^\+\d{8,15}$/.test(digits) || (/^\d{9,15}$/.test(digits) && /^\(?\d{2,4}\)?[ .-]\d/.test(text))) return 'phone'
  return undefined
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The check digit that all card numbers have, and one in ten of other numbers. */
function passesLuhn(digits: string): boolean {
  const values = [...digits].reverse().map((digit, index) => Number(digit) * (index % 2 === 1 ? 2 : 1))
  return values.reduce((sum, value) => sum + (value > 9 ? value - 9 : value), 0) % 10 === 0
}
