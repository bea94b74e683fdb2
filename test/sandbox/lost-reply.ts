import { engine, type Store } from 'hapax'
import { guard } from 'hapax/fetch'
import { coffee } from './payment-client.js'

/** Leaves a payment of acme in doubt: a node that is no sandbox took the same request, and its reply was lost. */
export async function lostReply<Tx>(store: Store<Tx>, key: string, body: unknown = coffee): Promise<void> {
  const hapax = engine({ store })
  const lose = () => Promise.reject(new Error('the reply was lost'))
  const guarded = guard(hapax, { name: 'payments.create', scope: () => 'acme', onError: 'unknown' }, lose)
  const headers = { 'content-type': 'application/json', 'idempotency-key': key }
  const { status } = await guarded(
    new Request('http://node/payments', { method: 'POST', headers, body: JSON.stringify(body) }),
  )
  if (status !== 409) throw new Error(`the reply was not lost: ${status}`)
  await hapax.close()
}
