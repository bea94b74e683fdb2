/** Every currency of the sandbox is named here. */

/** What balances are kept in. They have two decimals each. */
export const currencies = ['USD', 'EUR'] as const

/** What a card or the bank takes besides, in its smallest unit. */
export const chargedCurrencies = ['KRW', ...currencies] as const

export type Currency = (typeof currencies)[number]
export type ChargedCurrency = (typeof chargedCurrencies)[number]

export function isCurrency(value: unknown): value is Currency {
  return currencies.some((currency) => currency === value)
}

export function isChargedCurrency(value: unknown): value is ChargedCurrency {
  return chargedCurrencies.some((currency) => currency === value)
}

/** In capital or small letters, and kept as it was sent. */
export function isCurrencyInAnyCase(value: unknown): value is string {
  return typeof value === 'string' && inAnyCase.test(value)
}

const spellings = [...chargedCurrencies, ...chargedCurrencies.map((currency) => currency.toLowerCase())]
const inAnyCase = new RegExp(`^(${spellings.join('|')})$`)

export const currencyInAnyCase = { type: 'string', pattern: inAnyCase.source }
