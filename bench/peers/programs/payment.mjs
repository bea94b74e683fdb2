/** The handler that everybody guards: what it answers is the payment that was asked for. */
let payments = 0

export function pay(payment) {
  payments += 1
  return { id: `pay_${payments}`, status: 'created', ...payment }
}
