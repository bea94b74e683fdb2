/** `npm run bench -- <name>`: each bench prints what it measured and ends with one line of JSON. */
import { effects } from './effects/effects.js'
import { fingerprint } from './fingerprint.js'
import { hostile } from './hostile.js'
import { http } from './http/http.js'
import { reaper } from './reaper/reaper.js'
import { store } from './store/store.js'

const benches: Readonly<Record<string, () => Promise<unknown>>> = { effects, fingerprint, hostile, http, reaper, store }

const [name = '', ...rest] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) && rest.length === 0 ? benches[name] : undefined
if (bench === undefined) {
  console.error(`usage: npm run bench -- <${Object.keys(benches).join(' | ')}>`)
  process.exit(2)
}
console.log(JSON.stringify({ bench: name, ...((await bench()) as object) }))
