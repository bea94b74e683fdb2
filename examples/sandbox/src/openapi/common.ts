import { object, text } from './described.js'

const description =
  '`ohk_test_acme` or `ohk_test_globex`: one tenant each. With `_2` behind it, the second token of the same.'

/** What several systems share. */
export const common = {
  schemas: {
    Problem: {
      ...object(
        {
          type: { type: 'string', format: 'uri-reference' },
          title: text(1_000),
          status: { type: 'integer' },
          detail: text(10_000),
          code: text(100),
          retryable: { type: 'boolean' },
          retry_after: { type: 'integer' },
        },
        ['detail', 'retry_after'],
      ),
      description: 'Problem details (RFC 9457). `code` never changes; programs go by it.',
    },
    StripeError: object({
      error: object({ type: text(100), code: text(100), message: text(10_000) }, ['code']),
    }),
    MarketplaceError: object({ error: object({ code: text(100), message: text(10_000) }) }),
    ProviderError: object({
      error: object({ code: text(100), message: text(10_000), field: text(100) }, ['field']),
    }),
  },
  securitySchemes: {
    token: { type: 'http', scheme: 'bearer', description },
    basic: { type: 'http', scheme: 'basic', description: 'The token as the user name, with an empty password.' },
  },
} as const
