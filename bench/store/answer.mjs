/** A payment's answer, of the usual size: what everybody who is compared keeps. */
export const body = Buffer.from(JSON.stringify({ id: 'pay_1', status: 'created', note: 'x'.repeat(160) }))
