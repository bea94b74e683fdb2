import type { Place, Section } from './steps.js'

/** The partners send such events by themselves. These lines do it by hand, with the secret of the sandbox or your own. */
export function webhookSteps({ at, mark }: Place): Section {
  const object = {
    id: `esc_${mark}`,
    status: 'funded',
    reference: `esc_${mark}`,
    updatedAt: '2026-01-01T00:00:00.000Z',
  }
  const event = { id: `evt_${mark}`, type: 'escrow.funded', data: { operation: 'fund', key: null, object } }
  const secret = '$' + '{TRUSTLESS_WORK_WEBHOOK_SECRET:-whsec_sandbox_trustless_work}'
  const send = (signature: string) =>
    [
      `curl -i ${at}/webhooks/trustless-work`,
      `-H "Stripe-Signature: t=$AT,v1=${signature}"`,
      "-H 'Content-Type: application/json'",
      '-d "$EVENT"',
    ].join(' \\\n  ')
  return {
    id: 'webhooks',
    title: 'Webhooks',
    about:
      'What Airtm and Trustless Work say is signed, processed once, and evidence for the call that it names. They send it by themselves; here is one by hand.',
    badge: 'signed · processed once',
    steps: [
      {
        says: 'Sign an event, and send it.',
        run: [
          `EVENT='${JSON.stringify(event)}'`,
          'AT=$(date +%s)',
          `SIGNATURE=$(printf '%s.%s' "$AT" "$EVENT" \\\n  | openssl dgst -sha256 -hmac "${secret}" | sed 's/.* //')`,
          send('$SIGNATURE'),
        ].join('\n'),
        shows: ['HTTP/1.1 200 OK', '{"status":"ok"}'],
      },
      {
        says: 'Send it again, as whoever got no answer does.',
        run: send('$SIGNATURE'),
        shows: ['HTTP/1.1 200 OK', '"duplicate":true'],
      },
      {
        says: 'With a signature that is not theirs.',
        run: send('0000'),
        shows: ['HTTP/1.1 401 Unauthorized', 'webhook_signature_invalid'],
      },
    ],
  }
}
