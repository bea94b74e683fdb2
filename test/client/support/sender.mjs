/**
 * A program that pays, in a process of its own, so that it can be killed: `sender.mjs <url> <directory> <what it does>`.
 * It says what it has come to, one word per line, and does not go on from where it is to be killed.
 */
import process from 'node:process'
import { fileStorage } from 'hapax/client/node'
import { durableQueue } from 'hapax/client/queue'

const [, , url = '', directory = '', does = ''] = process.argv
const forever = () => new Promise(() => setInterval(() => {}, 1_000))

/** @param {string} line */
const say = (line) => process.stdout.write(`${line}\n`)

const queue = durableQueue({
  storage: fileStorage(directory),
  backoff: { first: '50ms', max: '50ms' },
  ...(does === 'stops before the first byte' && {
    fetch: () => {
      say('stored')
      return forever()
    },
  }),
  onAnswer: async (response, { note }) => {
    if (does === 'stops before it takes note') {
      say('answered')
      await forever()
    }
    say(`${note}: ${response.status} ${response.headers.get('idempotent-replayed')} ${await response.text()}`)
  },
})

if (does === 'resumes') say(`resumed ${(await queue.resume()).map(({ kind }) => kind).join()}`)
else await queue.send(url, { method: 'POST', body: '{"cents":1200}' }, { note: 'order 17' })
