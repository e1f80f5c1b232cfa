delete from run_count where subject = :subject
