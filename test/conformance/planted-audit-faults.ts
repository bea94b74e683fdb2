import type { AuditEntry, AuditStore, Store } from 'hapax'
import type { SqliteTransaction } from 'hapax/sqlite'
import type { PlantedFault } from './planted-faults.js'

/** What a careless author might write of the audit log, planted into the memory store. */
export const plantedAuditFaults: readonly PlantedFault[] = [
  {
    fault: 'forgets to chain its entries',
    caughtBy: 'of twenty writers at once, on two nodes, each has its place in one chain',
    plant: withAudit((audit) => ({ list: (query) => edited(audit, query, (entry) => ({ ...entry, previous: '' })) })),
  },
  {
    fault: 'keeps an entry without its reason',
    caughtBy: 'the log outlives what it is about',
    plant: withAudit((audit) => ({ list: (query) => edited(audit, query, (entry) => ({ ...entry, why: '' })) })),
  },
  {
    fault: 'loses the first entry',
    caughtBy: 'the log outlives what it is about',
    plant: withAudit((audit) => ({
      async list(query) {
        const { entries, next } = await audit.list(query)
        return { entries: entries.filter(({ sequence }) => sequence > 1), next }
      },
    })),
  },
  {
    fault: 'writes down what it does not do',
    caughtBy: 'a purge never touches what is unknown, in progress, or of another generation',
    plant: withAudit((audit) => ({
      async act(deed, by) {
        const acted = await audit.act(deed, by)
        if (acted.kind === 'done') return acted
        return audit.act({ kind: 'note', action: 'purge', subject: 'nothing' }, by)
      },
    })),
  },
  {
    fault: 'does what it does not write down',
    caughtBy: 'a settlement is written down with who, why, before and after, and is there when it is',
    plant: (store) =>
      withAudit((audit) => ({
        async act(deed, by) {
          if (deed.kind !== 'settle') return audit.act(deed, by)
          await store.settle(deed.name, deed.settlement)
          return { kind: 'done', entries: [] }
        },
      }))(store),
  },
  {
    fault: 'writes the entry first and acts afterwards, in a step of its own',
    caughtBy: 'of two who settle the same doubt at once one does, and one is told so',
    plant: (store) =>
      withAudit((audit) => ({
        async act(deed, by) {
          if (deed.kind !== 'settle') return audit.act(deed, by)
          const record = await store.find(deed.name)
          if (record?.state !== 'unknown')
            return { kind: 'refused', why: record ? 'state' : 'absent', ...(record && { state: record.state }) }
          const acted = await audit.act({ kind: 'note', action: 'settle', subject: 'record' }, by)
          await store.settle(deed.name, deed.settlement)
          return acted
        },
      }))(store),
  },
  {
    fault: 'lets a purge touch what is unknown',
    caughtBy: 'a purge never touches what is unknown, in progress, or of another generation',
    plant: (store) =>
      withAudit((audit) => ({
        async act(deed, by) {
          const record = deed.kind === 'purge' ? await store.find(deed.name) : undefined
          if (deed.kind === 'purge' && record?.state === 'unknown') {
            const evidence = { by: by.who, why: by.why }
            const answer = { kind: 'kept', status: 200, headers: [], body: new Uint8Array() } as const
            const outcome = { kind: 'completed', answer, answerVersion: 1 } as const
            await store.settle(deed.name, { generation: record.generation, evidence, outcome })
          }
          return audit.act(deed, by)
        },
      }))(store),
  },
  {
    fault: 'purges whatever generation there is',
    caughtBy: 'a purge never touches what is unknown, in progress, or of another generation',
    plant: (store) =>
      withAudit((audit) => ({
        async act(deed, by) {
          if (deed.kind !== 'purge') return audit.act(deed, by)
          const { generation } = (await store.find(deed.name)) ?? deed
          return audit.act({ ...deed, generation }, by)
        },
      }))(store),
  },
  {
    fault: 'settles a doubt for whoever has seen an older claim',
    caughtBy: 'a doubt that was claimed again since is not settled by what was said of the claim before',
    plant: withAudit((audit) => ({
      act(deed, by) {
        if (deed.kind !== 'settle') return audit.act(deed, by)
        const { fence: _, ...settlement } = deed.settlement
        return audit.act({ ...deed, settlement }, by)
      },
    })),
  },
  {
    fault: 'believes at once that nothing landed',
    caughtBy: 'what is said too early is refused, with how long to wait',
    plant: withAudit((audit) => ({
      act: (deed, by) => audit.act(deed.kind === 'settle' ? { ...deed, notBefore: 0 } : deed, by),
    })),
  },
  {
    fault: 'hands out the very entries that it holds',
    caughtBy: 'who reads the log may do to what he was given what he likes',
    plant: withAudit((audit) => {
      const held = new Map<number, AuditEntry>()
      return {
        async list(query) {
          const { entries, next } = await audit.list(query)
          for (const entry of entries) if (!held.has(entry.sequence)) held.set(entry.sequence, entry)
          return { entries: entries.map((entry) => held.get(entry.sequence) ?? entry), next }
        },
      }
    }),
  },
]

/** The same of effects, planted into the SQLite store. */
export const plantedEffectAuditFaults: readonly PlantedFault<SqliteTransaction>[] = [
  {
    fault: 'believes at once that an effect did not land',
    caughtBy: 'a doubt about an effect that did not land is settled once nobody who was slow can act',
    plant: withAudit((audit) => ({
      act: (deed, by) => audit.act(deed.kind === 'resolve' ? { ...deed, notBefore: 0 } : deed, by),
    })),
  },
  {
    fault: 'settles a doubt about an effect for whoever has seen an older claim',
    caughtBy:
      'an effect that is not in doubt, not there, or claimed again since is not settled, and nothing is written down',
    plant: (store) =>
      withAudit<SqliteTransaction>((audit) => ({
        async act(deed, by) {
          if (deed.kind !== 'resolve') return audit.act(deed, by)
          const { fence = deed.claim.fence } = (await store.effects?.find(deed.claim.id)) ?? {}
          return audit.act({ ...deed, claim: { ...deed.claim, fence } }, by)
        },
      }))(store),
  },
  {
    fault: 'keeps what was said though the settlement was refused',
    caughtBy: 'a doubt about an effect that did not land is settled once nobody who was slow can act',
    plant: (store) =>
      withAudit<SqliteTransaction>((audit) => ({
        async act(deed, by) {
          if (deed.kind === 'resolve') await store.calls?.testify(deed.said)
          return audit.act(deed, by)
        },
      }))(store),
  },
  {
    fault: 'settles an effect and writes it down in two steps',
    caughtBy: 'of two who settle the same doubt about an effect at once one does, and one is told so',
    plant: (store) =>
      withAudit<SqliteTransaction>((audit) => ({
        async act(deed, by) {
          if (deed.kind !== 'resolve') return audit.act(deed, by)
          const found = await store.effects?.find(deed.claim.id)
          if (found?.state !== 'unknown') return { kind: 'refused', why: 'state', state: found?.state ?? '' }
          // A quick disk would let the first be done before the second looks.
          await bothHaveLooked()
          const acted = await audit.act({ kind: 'note', action: 'settle', subject: `effect:${found.id}` }, by)
          await store.effects?.resolve(deed.claim, deed.evidence)
          return acted
        },
      }))(store),
  },
]

const bothHaveLooked = meeting()

/** Of two who come, each waits for the other. */
function meeting(): () => Promise<void> {
  let first: (() => void) | undefined
  return () =>
    new Promise((resolve) => {
      if (first === undefined) {
        first = resolve
        return
      }
      first()
      first = undefined
      resolve()
    })
}

/** Methods that take the place of the good ones of the audit log. */
function withAudit<Tx = never>(faulty: (audit: AuditStore) => Partial<AuditStore>) {
  return (store: Store<Tx>): Partial<Store<Tx>> => {
    if (store.audit === undefined) throw new Error('the good store keeps an audit log')
    return { audit: { ...store.audit, ...faulty(store.audit) } } as Partial<Store<Tx>>
  }
}

async function edited(
  audit: AuditStore,
  query: Parameters<AuditStore['list']>[0],
  edit: (entry: AuditEntry) => AuditEntry,
) {
  const { entries, next } = await audit.list(query)
  return { entries: entries.map(edit), next }
}
