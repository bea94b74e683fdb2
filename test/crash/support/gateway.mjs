/** How the victim speaks to its provider. */

/** @param {{ readonly provider: string, readonly keys: 'honoured' | 'forgotten', readonly scope: string }} job */
export function gatewayOf({ provider, keys, scope }) {
  let fault = ''
  return {
    /** @param {string} given */
    failWith(given) {
      fault = given
    },
    /** What the application says of its provider, which is the truth. */
    honoursKeyFor: keys === 'honoured' ? '24h' : undefined,
    /** @param {string} key @param {object} what @param {AbortSignal} signal */
    async charge(key, what, signal) {
      const answer = await fetch(`${provider}/charges?keys=${keys}&fault=${fault}`, {
        method: 'POST',
        headers: { 'idempotency-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ scope, ...what }),
        signal,
      })
      if (answer.status !== 201) throw new Error(`the provider answered ${answer.status}`)
      return answer.json()
    },
    /** @param {string} key */
    async find(key) {
      const [made] = await (await fetch(`${provider}/charges?key=${key}`)).json()
      return made === undefined ? { landed: false } : { landed: true, result: made }
    },
  }
}
