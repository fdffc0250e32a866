(** Print what each theorem assumes. "Closed under the global context" means: nothing but the definitions in its own
    statement. A test reads this output. *)

From Tagloom Require Import Model Deadlock Delivery Tree Waves Ring Check.

Print Assumptions no_deadlock.
Print Assumptions at_rest_is_empty.
Print Assumptions no_loop.
Print Assumptions moves_end.
Print Assumptions unicast_once.
Print Assumptions broadcast_counted.
Print Assumptions broadcast_on_tree_once.
Print Assumptions broadcast_kept.
Print Assumptions broadcast_bounded.
Print Assumptions wave.
Print Assumptions wave_broadcast_once.
Print Assumptions check_wave_sound.
Print Assumptions check_still_sound.
Print Assumptions ring_deadlocks.
Print Assumptions check_change_sound.
