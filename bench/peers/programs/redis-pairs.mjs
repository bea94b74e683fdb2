/** The least that a key in Redis takes: set if it is not there, and set again with the answer. */
import process from 'node:process'
import { createClient } from '@redis/client'
import { answering } from '../../harness/answering.mjs'
import { closedLoop } from '../../harness/loops.mjs'
import { body } from '../../store/answer.mjs'

const day = 86_400
const { url } = JSON.parse(process.argv[2] ?? '')
const client = await createClient({ url }).connect()
const held = JSON.stringify({ status: 'in_progress' })
const done = JSON.stringify({ status: 'completed', code: 201, body: body.toString() })

const pair = async (key) => {
  if ((await client.set(key, held, { condition: 'NX', expiration: { type: 'EX', value: day } })) !== 'OK')
    throw new Error('a new key was known')
  await client.set(key, done, { expiration: { type: 'EX', value: day } })
}

answering((wanted) => closedLoop(pair, wanted))
