/** What the page at `/` has people try. Each of these lines is run by a test, as it stands. */
export interface Section {
  readonly id: string
  readonly title: string
  readonly about: string
  /** Which manner of keys, and for how long. */
  readonly badge: string
  readonly steps: readonly Step[]
}

export interface Step {
  readonly says: string
  /** For a POSIX shell. Those of one section belong into one terminal. */
  readonly run: string
  /** What there is to be seen then. */
  readonly shows: readonly string[]
}

/** Where the sandbox is for whoever looks, and what makes their keys their own. */
export interface Place {
  readonly at: string
  /** New on every look, so that keys of the page are new, too. */
  readonly mark: string
}

interface Request {
  readonly path: string
  readonly key?: string
  readonly body?: object
  readonly token?: 'ohk_test_acme' | 'ohk_test_globex' | 'none'
  /** `-s` where the answer is for a variable or a loop. */
  readonly flags?: '-i' | '-s'
}

/** A request as a line of curl. A path may have variables of the shell, and is then quoted. */
export function curl({ at }: Place, { path, key, body, token = 'ohk_test_acme', flags = '-i' }: Request): string {
  const address = /[$?]/.test(path) ? `"${at}${path}"` : `${at}${path}`
  const parts = [
    `curl ${flags} ${address}`,
    ...(token === 'none' ? [] : [`-H 'Authorization: Bearer ${token}'`]),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'"]),
    ...(key === undefined ? [] : [`-H 'Idempotency-Key: ${key}'`]),
    // A POST without a body is one all the same.
    ...(body === undefined ? (key === undefined ? [] : ['-X POST']) : [`-d '${spelled(body)}'`]),
  ]
  return parts.join(' \\\n  ')
}

/** What does not fit on a line has a line for each member. */
function spelled(body: object): string {
  const text = JSON.stringify(body)
  if (text.length <= lineLength) return text
  const members = Object.entries(body).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  return `{\n    ${members.join(',\n    ')}\n  }`
}

const lineLength = 75

/** The member of an answer, as a variable of the shell: with nothing but what every system has. */
export function asVariable(name: string, member: string, command: string): string {
  return `${name}=$(${command} | sed 's/.*"${member}":"\\([^"]*\\)".*/\\1/')\necho "${name} is $${name}"`
}

/** Sends it until the answer has the text. */
export function untilShown(text: string, command: string): string {
  return `until ${command} \\\n  | grep '${text}'; do sleep 1; done`
}
