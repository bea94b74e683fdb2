import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { profiles } from 'hapax'
import { guard } from 'hapax/fastify'
import type { Sandbox } from '../sandbox.js'
import { everyRoute } from '../web/keys.js'
import { authenticateClient } from './bank-client.js'
import { byDigest, checkDigest } from './content-digest.js'
import { byFields } from './form-body.js'
import { withdrawalNow } from './show-withdrawal.js'
import { readWithdrawal, type WithdrawalRequest } from './withdrawal-request.js'
import { insertWithdrawal, newWithdrawal, shownWithdrawal } from './withdrawals.js'

/**
 * POST /sb/v1/withdraw. It is `pending` when it is answered, and a worker has the bank pay it out. A retry is answered how
 * it stands by then, as Finastra's standard has it, and never makes another one.
 */
export function withdraw(sandbox: Sandbox): RouteShorthandOptionsWithHandler {
  const { hapax, database, lease, bankCompares } = sandbox
  // All that the handler does is one commit. A crash rolls it back, so that a retry may simply run.
  const policy = { name: 'bank.withdraw', retention: '24h', lease, onCrash: 'retry' } as const
  // What was kept while withdrawals were compared otherwise is compared as it was.
  const fingerprint = { strategy: strategies[bankCompares], formerly: [byFields, byDigest, { kind: 'whole' }] } as const
  return guard(
    hapax,
    {
      ...policy,
      ...everyRoute(sandbox),
      fingerprint,
      profile: profiles.finastra,
      // A key is for retries. Whoever wants to know how it stands has a GET, as the standard says.
      replays: { most: 20, per: '1m' },
      currentState: ({ body }, { tenant }) => withdrawalNow(database, tenant, idIn(body)),
    },
    {
      onRequest: authenticateClient,
      preValidation: bankCompares === 'digest' ? [checkDigest, readWithdrawal] : readWithdrawal,
      handler: ({ work, body, tenant }, reply) =>
        work.commit(async ({ tx, effect }) => {
          const withdrawal = newWithdrawal(tenant, body as WithdrawalRequest)
          const { id, amount, currency, customer, description } = withdrawal
          await tx.run(insertWithdrawal(database.queries, withdrawal))
          effect('bank.withdraw', { reference: id, amount, currency, customer, description })
          reply.code(201).header('Location', `/sb/v1/withdrawals/${id}`)
          return shownWithdrawal(withdrawal)
        }),
    },
  )
}

/** The digest of a message stands for it, as the standard allows; the fields of a form may come in any order. */
const strategies = { fields: byFields, digest: byDigest } as const

/** Out of what the first request was answered. */
function idIn(body: Uint8Array): string {
  return JSON.parse(new TextDecoder().decode(body)).id
}
