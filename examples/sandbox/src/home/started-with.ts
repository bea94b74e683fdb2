import type { Sandbox } from '../sandbox.js'

/** What a setting asks for that the lines of the page do not give: they are written for a sandbox without settings. */
const meanings: Readonly<Record<string, string>> = {
  'SANDBOX_KEYS=unguessable': 'Every key has at least 8 different characters.',
  'SANDBOX_KEYS=uuid': 'Every key is a UUID: put one in the place of each key below.',
  'SANDBOX_KEY_OWNER=credential':
    'A key belongs to the token that it came with: to the second token of its tenant it is another key.',
  'SANDBOX_FIRST_SENT=required': 'A payment says in Repeatability-First-Sent when it was first sent.',
  'SANDBOX_PAYMENTS_PROFILE=boundary': 'The key of a payment has at least 16 characters.',
  'SANDBOX_NOTIFICATION_KEYS=redis':
    'A notification is sent while its sender waits, and not at a later time. Its key may be forgotten.',
  'SANDBOX_BANK_COMPARES=digest': 'A withdrawal from the bank says in Content-Digest what the SHA-256 of its body is.',
}

export interface StartedWith {
  readonly setting: string
  readonly means: string
}

export function startedWith(sandbox: Sandbox): StartedWith[] {
  const { keys, keyOwner, firstSent, paymentsProfile, bankCompares, redis } = sandbox
  const given = [
    `SANDBOX_KEYS=${keys}`,
    `SANDBOX_KEY_OWNER=${keyOwner}`,
    `SANDBOX_FIRST_SENT=${firstSent}`,
    `SANDBOX_PAYMENTS_PROFILE=${paymentsProfile}`,
    `SANDBOX_BANK_COMPARES=${bankCompares}`,
    `SANDBOX_NOTIFICATION_KEYS=${redis.notificationKeys}`,
  ]
  return given.flatMap((setting) => {
    const means = meanings[setting]
    return means === undefined ? [] : [{ setting, means }]
  })
}
